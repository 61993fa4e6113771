# expect: blocked | Blocked import detected: socket
import socket
socket.fromfd(3, socket.AF_UNIX, socket.SOCK_STREAM).send(b"ESCAPED")
