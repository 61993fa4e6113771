# expect: blocked | Import not whitelisted: _thread
import _thread
_thread.start_new_thread(print, ("ESCAPED",))
