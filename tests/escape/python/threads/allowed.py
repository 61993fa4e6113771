# expect: RuntimeError | RuntimeError: can't start new thread
# allow: threading
# Who may name the module has no threads either: the kernel gives none.
import threading
threading.Thread(target=print, args=("ESCAPED",)).start()
