# What a program tries that owns the real posix module and ctypes. One line a deed: "name errno", or "name DONE". With the input
# "harmless" only what can be done without harm: for the run that nothing refuses.
import ctypes, errno, os, posix, socket, mmap, signal

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
null = ctypes.c_void_p(0)


def tell(name, result):
    print(name, result)


def deed(name):
    """A function that raises OSError, or does it."""
    def run(function):
        try:
            function()
            tell(name, "DONE")
        except OSError as error:
            tell(name, errno.errorcode.get(error.errno, str(error.errno)))
        except MemoryError:
            tell(name, "ENOMEM")
    return run


def raw(name, number, *arguments):
    """A system call by its number (x86_64)."""
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if name == "fork" and result == 0:
        libc._exit(0)
    tell(name, "DONE" if result >= 0 else errno.errorcode.get(ctypes.get_errno(), "?"))


deed("open")(lambda: posix.open("/etc/passwd", posix.O_RDONLY))
deed("open-directory")(lambda: posix.open("/", posix.O_RDONLY))
if input != "harmless":
    deed("create")(lambda: posix.open("/tmp/cordon-naked", posix.O_WRONLY | posix.O_CREAT))
deed("stat")(lambda: posix.stat("/etc/passwd"))
deed("stat-root")(lambda: posix.stat("/"))
deed("listdir")(lambda: posix.listdir("/"))
deed("chdir")(lambda: posix.chdir("/"))
deed("getcwd")(lambda: posix.getcwd())
if input != "harmless":
    deed("mkdir")(lambda: posix.mkdir("/tmp/cordon-naked-dir"))
deed("unlink")(lambda: posix.unlink("/tmp/cordon-naked-none"))
deed("readlink")(lambda: posix.readlink("/proc/self/exe"))
deed("fork")(lambda: posix.fork() or posix._exit(0))
if input != "harmless":
    deed("exec")(lambda: posix.execv("/nonexistent", ["x"]))
deed("socket-inet")(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
deed("socket-inet6")(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
deed("socket-unix")(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
deed("socket-netlink")(lambda: socket.socket(16, socket.SOCK_RAW))
deed("socketpair")(lambda: socket.socketpair())
deed("pipe")(lambda: posix.pipe())
deed("dup")(lambda: posix.dup(1))
deed("memfd")(lambda: posix.memfd_create("x"))
deed("kill-self")(lambda: posix.kill(posix.getpid(), 0))
deed("kill-parent")(lambda: posix.kill(posix.getppid() or 1, 0))
deed("kill-everybody")(lambda: posix.kill(-1, 0))
deed("write-stdin")(lambda: posix.write(0, b"x"))
deed("write-4")(lambda: posix.write(4, b"x"))
if input != "harmless":
    deed("read-stdout")(lambda: posix.read(1, 1))
deed("read-0")(lambda: posix.read(0, 1))
deed("setuid")(lambda: posix.setresuid(0, 0, 0))
deed("shared-memory")(lambda: mmap.mmap(-1, 4096))
deed("nice")(lambda: posix.nice(0))
deed("uname")(lambda: posix.uname())
# A thread, by the C library: its start is a C function, since code cannot be made in here.
thread = ctypes.c_ulong(0)
error = libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(libc.getpid, ctypes.c_void_p), None)
tell("thread", errno.errorcode.get(error, str(error)) if error else "DONE")


def by_thread_module():
    import _thread
    try:
        _thread.start_new_thread(print, ())
    except RuntimeError:
        raise OSError(errno.EPERM, "no thread")


if input != "harmless":
    deed("thread-module")(by_thread_module)
for name, number, arguments in [
        ("clone", 56, (0x11, null, null, null, null)), ("clone3", 435, (null, 88)), ("vfork", 58, ()), ("ptrace", 101, (0, 0, null, null)),
        ("prctl", 157, (38, 1, 0, 0, 0)), ("seccomp", 317, (1, 0, null)), ("unshare", 272, (0x10000000,)), ("mount", 165, (null, null, null, 0, null)),
        ("chroot", 161, (b"/",)), ("pivot_root", 155, (b"/", b"/")), ("setns", 308, (1, 0)), ("bpf", 321, (0, null, 0)), ("perf", 298, (null, 0, -1, -1, 0)),
        ("keyctl", 250, (0, -3, 1)), ("io_uring", 425, (1, null)), ("userfaultfd", 323, (0,)), ("shmget", 29, (0, 4096, 0o1600)), ("msgget", 68, (0, 0o1600)),
        ("process_vm_readv", 310, (1, null, 0, null, 0, 0)), ("pidfd_open", 434, (1, 0)), ("tgkill", 234, (1, 1, 0)), ("rt_sigqueueinfo", 129, (1, 0, null)),
        ("ioctl", 16, (1, 0x5401, null)), ("fcntl", 72, (1, 3, 0)), ("sendmsg", 46, (3, null, 0)), ("recvmsg", 47, (3, null, 0)), ("sendto", 44, (3, b"x", 0, 0, null, 0)),
        ("prlimit", 302, (0, 9, null, null)), ("setrlimit", 160, (9, null)), ("rt_sigaction", 13, (14, null, null, 8)), ("inotify", 294, (0,)), ("eventfd", 290, (0, 0)),
        ("timerfd", 283, (1, 0)), ("epoll", 291, (0,)), ("sysinfo", 99, (null,)), ("getdents", 217, (1, null, 0)), ("fstat", 5, (1, null)), ("lseek", 8, (1, 0, 0)),
        ("openat2", 437, (-100, b"/", null, 24)), ("name_to_handle_at", 303, (-100, b"/", null, null, 0)), ("statx", 332, (-100, b"/", 0, 0, null)),
        ("mincore", 27, (null, 0, null)), ("mlock", 149, (null, 0)), ("mbind", 237, (null, 0, 0, null, 0, 0)), ("move_pages", 279, (0, 0, null, null, null, 0)), ("personality", 135, (0,)),
        ("x32-getpid", 0x40000000 + 39, ()), ("poll", 7, (null, 0, 0)), ("splice", 275, (3, null, 1, null, 1, 0)), ("sched_setaffinity", 203, (0, 0, null))]:
    if input != "harmless" or name in ("prctl", "ioctl"):
        raw(name, number, *arguments)
failed = ctypes.c_void_p(-1).value
for name, length, protection, flags in [("map-shared", 4096, 3, 0x21), ("map-code", 4096, 7, 0x22), ("map-huge", 2 << 20, 3, 0x40022), ("map-300M", 300 << 20, 3, 0x22)]:
    got = libc.mmap(None, length, protection, flags, -1, 0)
    tell(name, "DONE" if got != failed else errno.errorcode.get(ctypes.get_errno(), "?"))
page = libc.mmap(None, 4096, 3, 0x22, -1, 0)
tell("make-code", "DONE" if libc.mprotect(ctypes.c_void_p(page), 4096, 5) == 0 else errno.errorcode.get(ctypes.get_errno(), "?"))
tell("malloc-300M", "DONE" if libc.malloc(300 << 20) else "ENOMEM")
# The allowed twins: a wall that refuses everything would refuse these, too.
deed("twin-write")(lambda: posix.write(1, b""))
deed("twin-time")(lambda: posix.times())
tell("twin-map", "DONE" if libc.mmap(None, 1 << 20, 3, 0x22, -1, 0) != failed else "?")
raw("twin-getpid", 39)
