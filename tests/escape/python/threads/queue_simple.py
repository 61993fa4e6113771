# expect: blocked | Import not whitelisted: queue
import queue
queue.SimpleQueue().get(timeout=1)
print("ESCAPED")
