#include "kernel/loopback.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/scope.h"
#include "kernel/raw.h"

#define BACKLOG 128

int loopback_up(void)
{
	struct ifreq lo = { .ifr_name = "lo" };
	int fd = RAW(socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	int result = RAW(ioctl, fd, SIOCGIFFLAGS, &lo);
	lo.ifr_flags |= IFF_UP;
	if (result == 0)
		result = RAW(ioctl, fd, SIOCSIFFLAGS, &lo);
	raw_close(&fd);
	return result;
}

int loopback_socket(void)
{
	return RAW(socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int loopback_listen(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = loopback_socket();
	if (fd < 0)
		return fd;
	int result = RAW(bind, fd, &at, sizeof at);
	if (result == 0)
		result = RAW(listen, fd, BACKLOG);
	if (result < 0)
		raw_close(&fd);
	return result < 0 ? result : fd;
}
