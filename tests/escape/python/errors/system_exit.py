# expect: SystemExit | SystemExit: ESC
raise SystemExit("ESC")
