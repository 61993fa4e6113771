"""Stressors of stress-ng, one after the other, each inside of a run of 256 MB and 10 processes."""
from kit import *

# Nothing here asks for more than the run has: what a stressor is refused, it is refused by the sandbox.
SHORT = "fork malloc vm brk pipe mmap dentry cpu".split()
LONG = SHORT + """access aio alarm atomic bigheap bsearch cache chdir chmod clone close context copy-file daemon dup dynlib env epoll
eventfd exec fallocate fault fcntl fiemap fstat futex get getdent getrandom hdd icache inode-flags itimer kill link madvise memcpy memfd
mincore mknod mlock mprotect mq mremap msg munmap nice null open personality poll prctl procfs pthread ptrace pty quota readahead rename
rlimit rmap seal sem sendfile session set shm shm-sysv sigchld sigfd signal sigpending sigsegv sleep sock socket-many splice stack
switch symlink sysinfo tee timer timerfd tmpfs udp unshare userfaultfd utime vfork vma wait xattr zero zombie""".split()
wrong, refused = [], 0
names = times(SHORT, LONG)
free_before = int(next(line.split()[1] for line in open("/proc/meminfo") if line.startswith("MemAvailable")))
for name in names:
    command = [CORDON, "run", "--memory", "256M", "--processes", "10", "--disk", "64M", "--cpu", "20s", "--timeout", "8s", "--output", "1M", "--",
               "stress-ng", "--" + name, "2", "--timeout", "1", "--temp-path", "."]
    tool = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        err = tool.communicate(timeout=30 * slowness())[1]
        refused += tool.returncode != 0
        if tool.returncode < 0 or b"internal" in err:
            wrong.append(f"{name}: {tool.returncode} {err!r}")
    except subprocess.TimeoutExpired:
        tool.kill()
        tool.communicate()
        wrong.append(f"{name}: it hangs")
    left = gone_within(1000)
    if left:
        wrong.append(f"{name} leaves " + describe(left))
        kill_all(left)
verdict(not wrong, f"{len(names)} stressors: each run ends, and leaves nobody", *wrong)
verdict(refused < len(names), "not all of them were refused")
free_after = int(next(line.split()[1] for line in open("/proc/meminfo") if line.startswith("MemAvailable")))
verdict(free_after > free_before - (1 << 20), "memory is there as before", free_before, free_after)
done = subprocess.run([CORDON, "run", "--", "echo", "well"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
verdict(done.stdout == "well\n", "and the next run is well", done.stderr)
finish()
