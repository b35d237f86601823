$env:COMPLETE = 'powershell'; dshkit | Out-String | Invoke-Expression; Remove-Item Env:\COMPLETE
