# expect: KeyboardInterrupt
raise KeyboardInterrupt
