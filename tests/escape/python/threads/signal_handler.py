# expect: blocked | Blocked import detected: signal
import signal
signal.signal(signal.SIGTERM, lambda *_: print("ESCAPED"))
