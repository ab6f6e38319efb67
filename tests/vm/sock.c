// SPDX-License-Identifier: MIT
/*
 * Sockets and addresses for the cases: every socket under test is made here,
 * with the protocol of its side.
 */
#include "harness.h"

struct addr addr_any(int family, uint16_t port)
{
	struct addr any = { .len = sizeof(struct sockaddr_in) };

	any.sa.sa_family = family;
	if (family == AF_INET6)
		any.len = sizeof(struct sockaddr_in6);
	return addr_port(&any, port);
}

struct addr addr_port(const struct addr *base, uint16_t port)
{
	struct addr copy = *base;

	if (copy.sa.sa_family == AF_INET6)
		copy.in6.sin6_port = htons(port);
	else
		copy.in.sin_port = htons(port);
	return copy;
}

struct addr addr_local(int fd)
{
	struct addr name = { .len = sizeof(name.ss) };

	CHECK_OK(getsockname(fd, &name.sa, &name.len));
	return name;
}

struct addr addr_peer(int fd)
{
	struct addr name = { .len = sizeof(name.ss) };

	CHECK_OK(getpeername(fd, &name.sa, &name.len));
	return name;
}

/* A v4-mapped IPv6 address as the IPv4 address it means. */
struct addr addr_unmap(const struct addr *addr)
{
	struct addr v4;

	if (addr->sa.sa_family != AF_INET6 ||
	    !IN6_IS_ADDR_V4MAPPED(&addr->in6.sin6_addr))
		return *addr;
	v4 = addr_any(AF_INET, ntohs(addr->in6.sin6_port));
	memcpy(&v4.in.sin_addr, &addr->in6.sin6_addr.s6_addr[12], 4);
	return v4;
}

uint16_t addr_get_port(const struct addr *addr)
{
	return ntohs(addr->sa.sa_family == AF_INET6 ? addr->in6.sin6_port :
						      addr->in.sin_port);
}

bool addr_same_host(const struct addr *a, const struct addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, 16);
}

bool addr_is_any(const struct addr *addr)
{
	struct addr any = addr_any(addr->sa.sa_family, 0);

	return addr_same_host(addr, &any);
}

bool addr_is_loopback(const struct addr *addr)
{
	if (addr->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&addr->in6.sin6_addr);
	return ntohl(addr->in.sin_addr.s_addr) >> 24 == 127;
}

int sock_new(struct side *s, int flags)
{
	return CHECK_OK(socket(s->family, SOCK_STREAM | flags, s->proto));
}

/* A socket bound to the wildcard address; port 0 chooses one. */
int sock_bound(struct side *s, uint16_t port)
{
	struct addr any = addr_any(s->family, port);
	int fd = sock_new(s, 0);

	CHECK_OK(bind(fd, &any.sa, any.len));
	return fd;
}

int sock_listen(struct side *s, int backlog)
{
	int fd = sock_bound(s, 0);

	CHECK_OK(listen(fd, backlog));
	return fd;
}

/*
 * A non-blocking socket whose connect cannot finish: the agent's listener
 * (H_LISTEN) has a full backlog.  AGENT_ACCEPT there lets it finish.
 */
int sock_connecting(struct side *s)
{
	int port = PEER_OK(s, AGENT_LISTEN, H_LISTEN, 0, 0);
	struct addr to = addr_port(&s->remote, port);
	int fd;

	for (int i = 0; i < 8; i++) {
		struct pollfd p = { .events = POLLOUT };

		p.fd = fd = sock_new(s, SOCK_NONBLOCK);
		CHECK_ERR(connect(fd, &to.sa, to.len), EINPROGRESS);
		if (CHECK_OK(poll(&p, 1, 3000)) == 0)
			return fd;
		CHECK_EQ(sock_error(fd), 0);
	}
	case_fail(__FILE__, __LINE__, "expected a backlog of 0 to fill");
}

void sock_set(int fd, int level, int name, int value)
{
	CHECK_OK(setsockopt(fd, level, name, &value, sizeof(value)));
}

int sock_get(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	CHECK_OK(getsockopt(fd, level, name, &value, &len));
	CHECK_EQ(len, sizeof(int));
	return value;
}

void sock_nonblock(int fd, bool on)
{
	int flags = CHECK_OK(fcntl(fd, F_GETFL));

	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	CHECK_OK(fcntl(fd, F_SETFL, flags));
}

int sock_error(int fd)
{
	return sock_get(fd, SOL_SOCKET, SO_ERROR);
}

static int pair_by_connect(struct side *s, int handle)
{
	int port = PEER_OK(s, AGENT_LISTEN, H_LISTEN, 16, 0);
	struct addr to = addr_port(&s->remote, port);
	int fd = sock_new(s, 0);

	CHECK_OK(connect(fd, &to.sa, to.len));
	PEER_OK(s, AGENT_ACCEPT, H_LISTEN, handle, 0);
	PEER_OK(s, AGENT_CLOSE, H_LISTEN, 0, 0);
	return fd;
}

static int pair_by_accept(struct side *s, int handle)
{
	int lfd = sock_listen(s, 16);
	struct addr name = addr_local(lfd);
	int fd;

	peer_start(s, 0, AGENT_CONNECT, handle, addr_get_port(&name), 0);
	fd = CHECK_OK(accept(lfd, NULL, NULL));
	CHECK_OK(peer_wait(s));
	CHECK_OK(close(lfd));
	return fd;
}

/* A connection: our end is returned, the agent's is in @handle. */
int pair_at(struct side *s, int handle)
{
	return s->accepting ? pair_by_accept(s, handle) :
			      pair_by_connect(s, handle);
}

int pair(struct side *s)
{
	return pair_at(s, H_CONN);
}

/* Wait until exactly this many bytes are there to be read. */
void wait_readable(int fd, int bytes)
{
	int64_t until = now_ms() + PATIENCE_MS;
	int queued = -1;

	while (now_ms() < until) {
		CHECK_OK(ioctl(fd, FIONREAD, &queued));
		if (queued == bytes)
			return;
		sleep_ms(2);
	}
	CHECK_EQ(queued, bytes);
}
