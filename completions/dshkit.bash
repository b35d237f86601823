source <(COMPLETE=bash dshkit)
