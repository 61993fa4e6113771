/* cordon-keeper: the keeper as a program of its own, for hosts that are too large to fork. The library executes it with the
 * socket as descriptor 3 and an empty environment. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "keeper/keeper.h"

int main(void)
{
	int type = 0;
	socklen_t size = sizeof type;
	if (getsockopt(3, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET) {
		static const char text[] = "cordon-keeper is started by libcordon, not by hand.\n";
		ssize_t wrote = write(2, text, sizeof text - 1);
		(void)wrote;
		return 125;
	}
	fcntl(3, F_SETFD, FD_CLOEXEC);
	syscall(SYS_close_range, 4, ~0u, 0); /* what the host forgot to keep to itself */
	/* Many runs at once take many descriptors; what a run may open is a matter of its policy. */
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	keeper_main(3);
}
