# expect: RuntimeError | RuntimeError: can't start new thread
# allow: _thread
import _thread
_thread.start_new_thread(print, ("ESCAPED",))
