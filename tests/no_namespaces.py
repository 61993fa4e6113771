"""A user namespace with all ids, in which no further one can be made; then execute argv in it."""
import ctypes, os, sys
r, w = os.pipe()
ready, go = os.pipe()
child = os.fork()
if child == 0:
    assert ctypes.CDLL(None).unshare(0x10000000) == 0
    os.write(w, b"x"), os.read(ready, 1)
    open("/proc/sys/user/max_user_namespaces", "w").write("0")
    os.execvp(sys.argv[1], sys.argv[1:])
os.read(r, 1)
for name in ("uid_map", "gid_map"):
    open("/proc/%d/%s" % (child, name), "w").write("0 0 65536")
os.write(go, b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
