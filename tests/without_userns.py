"""without_userns.py docker|ubuntu COMMAND…: execute it where user namespaces are refused: as by Docker's default profile, which refuses
every clone and unshare into a new namespace, and mounts; or as by Ubuntu's AppArmor, where one can be made but gives nothing: in it
mounts are refused."""
import ctypes, os, platform, struct, sys
x86 = platform.machine() == "x86_64"
NEW = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
EPERM, EACCES, ENOSYS = 1, 13, 38
mounts = {"mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "open_tree": (428,) * 2, "move_mount": (429,) * 2,
          "fsopen": (430,) * 2, "fsconfig": (431,) * 2, "fsmount": (432,) * 2, "mount_setattr": (442,) * 2}
clone, unshare, setns, clone3 = (56, 220), (272, 97), (308, 268), (435, 435)
number = lambda pair: pair[0 if x86 else 1]
rows = [(0x20, 0, 0, 0)]  # the call's number
def refuse(pair, errno):
    rows.extend([(0x15, 0, 1, number(pair)), (0x06, 0, 0, 0x00050000 | errno)])
def refuse_new(pair, errno):  # where the first argument asks for a namespace
    rows.extend([(0x15, 0, 4, number(pair)), (0x20, 0, 0, 16), (0x45, 0, 1, NEW), (0x06, 0, 0, 0x00050000 | errno), (0x06, 0, 0, 0x7FFF0000)])
if sys.argv[1] == "docker":
    refuse(clone3, ENOSYS)
    refuse(setns, EPERM)
    refuse_new(clone, EPERM)
    refuse_new(unshare, EPERM)
for pair in mounts.values():
    refuse(pair, EPERM if sys.argv[1] == "docker" else EACCES)
rows.append((0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0          # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, program) == 0, os.strerror(ctypes.get_errno())  # PR_SET_SECCOMP
os.execvp(sys.argv[2], sys.argv[2:])
