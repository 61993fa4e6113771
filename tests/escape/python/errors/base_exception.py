# expect: KeyboardInterrupt | KeyboardInterrupt
raise KeyboardInterrupt
