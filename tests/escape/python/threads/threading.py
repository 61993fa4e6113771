# expect: blocked | Import not whitelisted: threading
import threading
threading.Thread(target=print, args=("ESCAPED",)).start()
