/* The resolver library can ask for services by their names, which we never do. The C library's answer would load libraries at run
 * time, and bring a good part of itself along; a static program shall have neither. */
#include <errno.h>
#include <netdb.h>
#include <stddef.h>

struct servent *no_service(const char *name, const char *protocol) __asm__("getservbyname");
int no_service_of(int port, const char *protocol, struct servent *space, char *text, size_t size,
		  struct servent **ret) __asm__("getservbyport_r");

struct servent *no_service(const char *name, const char *protocol)
{
	(void)name, (void)protocol;
	return NULL;
}

int no_service_of(int port, const char *protocol, struct servent *space, char *text, size_t size, struct servent **ret)
{
	(void)port, (void)protocol, (void)space, (void)text, (void)size;
	*ret = NULL;
	return ENOENT;
}
