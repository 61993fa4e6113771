# expect: SystemExit
raise SystemExit("ESC")
