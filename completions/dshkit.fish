COMPLETE=fish dshkit | source
