# A program that owns ctypes looks through all of its own memory for what others were given. What it looks for is not spelled in here: it
# would find itself. Prints how often it was found, and in how many pages it looked.
import ctypes
libc = ctypes.CDLL(None)
libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
rot = bytes((i + 13) % 256 for i in range(256))
needle = bytes([97, 82, 91, 78, 91, 97, 58])
found = pages = 0
def scan(middle, each_way):
    global found, pages
    for at in range((middle & -4096) - each_way, (middle & -4096) + each_way, 4096):
        if at > 0 and libc.write(3, at, 0) == 0 and libc.write(1, at, 1) == 1:
            pages += 1
            found += ctypes.string_at(at, 4096).translate(rot).count(needle)
scan(libc.malloc(24), 4 << 20)
scan(id(object()), 4 << 20)
scan(ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "PyBool_Type")), 4 << 20)
print(found, pages)
