/* The parts of a net. Internal to the room. */
#pragma once

#include <sys/socket.h>

#include "net/http.h"
#include "net/net.h"
#include "net/tls.h"

#define NET_READ_MAX HTTP_HEAD_MAX
#define NET_BUFFER (NET_READ_MAX + 1024) /* a head that is sent on may grow a little */
#define NET_MOST_ADDRESSES 8

enum conn_state { CONN_ASKING, CONN_RESOLVING, CONN_CONNECTING, CONN_RELAYING, CONN_PARTING };

/* What may be sent on of what the run says. */
enum gate {
	GATE_CLOSED, /* nothing more */
	GATE_OPEN,
	GATE_FIRST, /* the first bytes decide */
	GATE_TLS,
	GATE_HTTP, /* a request that is not whole yet */
	GATE_BODY,
};

struct side {
	int fd;
	uint32_t watched;
	bool ended; /* it says no more */
	bool shut;  /* we have told it that we say no more */
};

struct flow {
	char *bytes; /* NET_BUFFER of them, once there was something */
	size_t at, size;
	size_t cleared; /* of these so many may go on */
};

struct lookup;

struct conn {
	struct net *net;
	uint32_t slot, generation;
	enum conn_state state;
	enum net_speech speech;
	bool greeted;             /* SOCKS5 has two questions */
	bool told;                /* of this attempt */
	bool failed;              /* end it when the step is over */
	struct side inner, outer; /* who asked, and who is asked; of a published port the run is the outer */
	struct flow up, down;     /* from inner to outer, and back */
	enum gate gate;
	struct tls_watch tls;
	struct http_body body;
	struct net_target target;
	struct net_address addresses[NET_MOST_ADDRESSES];
	size_t address_count, address_at;
	struct lookup *lookup;
	int64_t deadline_us;
	int64_t moved_us; /* when bytes moved last */
};

struct port {
	int listener;
	uint16_t inside, outside;
};

struct net {
	struct net_listener tell;
	struct net_rules rules;
	bool has_proxy;
	int epoll;
	int proxy; /* the listening socket inside */
	struct port ports[NET_MOST_PUBLISHED];
	size_t port_count;
	int stock[NET_STOCK];
	size_t stock_count;
	struct conn *conns[NET_MOST_CONNECTIONS];
	size_t most, count;
	uint32_t generation;
	bool accepting, serving; /* what is watched: the proxy's socket, the published ports */
	int64_t idle_us;
	int64_t rate; /* bytes a second, 0: no limit */
	int64_t tokens, filled_us, resume_us;
	int64_t accept_us; /* when descriptors may be there again; INT64_MAX: they are */
	int64_t in, out;
	void *resolver; /* ares_channel; NULL before the first name */
};

/* net.c */
enum net_source { NET_SOURCE_PROXY, NET_SOURCE_PORT, NET_SOURCE_RESOLVER, NET_SOURCE_INNER, NET_SOURCE_OUTER };
uint64_t net_tag(enum net_source source, uint32_t index, uint32_t generation);
struct conn *net_add(struct net *net, int inner);
void net_remove(struct conn *c); /* closes and frees it */
bool net_is_paused(const struct net *net);
void net_count(struct net *net, int64_t in, int64_t out);
void net_watch(struct conn *c, struct side *side, uint32_t events);

/* conn.c */
void conn_event(struct conn *c, bool outer, uint32_t events);
void conn_refuse(struct conn *c, enum net_verdict verdict);
void conn_resolved(struct conn *c); /* addresses are there, or none are */
void conn_connect(struct conn *c);  /* to the next address */
void conn_expired(struct conn *c, int64_t now_us);
void conn_tell(struct conn *c, enum net_verdict verdict);
void conn_watch(struct conn *c); /* what it waits for now */

/* flow.c */
bool flow_add(struct flow *f, const void *bytes, size_t size); /* false: no memory, or no room */
size_t flow_room(const struct flow *f);
long flow_read(struct flow *f, int fd);  /* bytes; 0: the end; -EAGAIN; other -errno */
long flow_write(struct flow *f, int fd); /* bytes; -errno */
void flow_drop(struct flow *f, size_t size);
/* Put these bytes where the first `size` are. */
bool flow_replace(struct flow *f, size_t size, const struct buf *by);
void flow_done(struct flow *f);

/* gate.c: NET_ALLOWED, or why the connection ends */
enum net_verdict gate_look(struct conn *c);

/* relay.c */
void relay_move(struct conn *c);

/* answer.c */
void answer_refusal(struct conn *c, enum net_verdict verdict);
bool answer_yes(struct conn *c);

/* resolve.c */
int resolve_start(struct conn *c);
void resolve_forget(struct conn *c);
void resolve_ready(struct net *net, int fd, uint32_t events);
void resolve_expire(struct net *net);
int64_t resolve_next_us(struct net *net);
void resolve_close(struct net *net);

/* publish.c */
int publish_bind(struct port *port, struct err *e);
void publish_accept(struct net *net, const struct port *port);
void publish_return(struct net *net, int *socket); /* to the stock */
