// SPDX-License-Identifier: MIT
/*
 * connect: blocking and not, refused, unreachable, names before, during and
 * after, and the ways to call it wrongly.
 */
#include "harness.h"

static struct addr listening_peer(struct side *s, int backlog)
{
	return addr_port(&s->remote, PEER_OK(s, AGENT_LISTEN, H_LISTEN,
					     backlog, 0));
}

/* A port of the agent's host where nobody listens. */
static struct addr refusing_peer(struct side *s)
{
	struct addr to = listening_peer(s, 1);

	PEER_OK(s, AGENT_CLOSE, H_LISTEN, 0, 0);
	return to;
}

static void blocking(struct side *s)
{
	struct addr to = listening_peer(s, 16);
	int fd = sock_new(s, 0);

	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	CHECK_EQ(sock_error(fd), 0);
	CHECK_ERR(connect(fd, &to.sa, to.len), EISCONN);
	PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	send_ours(fd, 0, 1000);
	PEER_EQ(s, 1000, AGENT_RECV, H_CONN, 0, 1000);
	PEER_EQ(s, 2000, AGENT_SEND, H_CONN, 0, 2000);
	recv_theirs(fd, 0, 2000);
}

static void nonblocking(struct side *s)
{
	struct addr to = listening_peer(s, 16);
	int fd = sock_new(s, SOCK_NONBLOCK);

	CHECK_ERR(connect(fd, &to.sa, to.len), EINPROGRESS);
	EVENTS_BECOME(fd, POLLOUT);
	CHECK_EQ(sock_error(fd), 0);
	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	CHECK_ERR(connect(fd, &to.sa, to.len), EISCONN);
	PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	send_ours(fd, 0, 10);
	PEER_EQ(s, 10, AGENT_RECV, H_CONN, 0, 10);
}

static void in_progress(struct side *s)
{
	int fd = sock_connecting(s);
	struct addr to = addr_port(&s->remote, 9);
	struct addr name = addr_local(fd);
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	EVENTS_ARE(fd, 0);
	CHECK_ERR(connect(fd, &to.sa, to.len), EALREADY);
	CHECK(addr_get_port(&name) != 0);
	CHECK(addr_same_host(&name, &s->local));
	CHECK_ERR(getpeername(fd, (struct sockaddr *)&ss, &len), ENOTCONN);
	CHECK_ERR(send(fd, "x", 1, MSG_NOSIGNAL), EAGAIN);
	CHECK_ERR(recv(fd, &ss, 1, 0), EAGAIN);
	CHECK_EQ(sock_error(fd), 0);
	PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	EVENTS_BECOME(fd, POLLOUT);
	CHECK_EQ(sock_error(fd), 0);
	PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN + 1, 0);
	send_ours(fd, 0, 10);
	PEER_EQ(s, 10, AGENT_RECV, H_CONN + 1, 0, 10);
}

static void closed_in_progress(struct side *s)
{
	int fd = sock_connecting(s);

	CHECK_OK(close(fd));
	PEER_EQ(s, 0, AGENT_PING, 0, 0, 0);
}

static void refused(struct side *s)
{
	struct addr to = refusing_peer(s);
	int fd = sock_new(s, 0);

	CHECK_ERR(connect(fd, &to.sa, to.len), ECONNREFUSED);
	CHECK_EQ(sock_error(fd), 0);
	CHECK_ERR(connect(fd, &to.sa, to.len), ECONNREFUSED);
}

static void refused_then_accepted(struct side *s)
{
	struct addr to = refusing_peer(s);
	int fd = sock_new(s, 0);

	CHECK_ERR(connect(fd, &to.sa, to.len), ECONNREFUSED);
	to = listening_peer(s, 4);
	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	send_ours(fd, 0, 10);
	PEER_EQ(s, 10, AGENT_RECV, H_CONN, 0, 10);
}

static void refused_async(struct side *s)
{
	struct addr to = refusing_peer(s);
	int fd = sock_new(s, SOCK_NONBLOCK);
	char byte;

	CHECK_ERR(connect(fd, &to.sa, to.len), EINPROGRESS);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	CHECK_EQ(sock_error(fd), ECONNREFUSED);
	CHECK_EQ(sock_error(fd), 0);
	EVENTS_ARE(fd, POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
	CHECK_ERR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
}

static void refused_async_recv(struct side *s)
{
	struct addr to = refusing_peer(s);
	int fd = sock_new(s, SOCK_NONBLOCK);
	char byte;

	CHECK_ERR(connect(fd, &to.sa, to.len), EINPROGRESS);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	CHECK_ERR(recv(fd, &byte, 1, 0), ECONNREFUSED);
	CHECK_EQ(sock_error(fd), 0);
}

static void refused_async_connect(struct side *s)
{
	struct addr to = refusing_peer(s);
	int fd = sock_new(s, SOCK_NONBLOCK);

	CHECK_ERR(connect(fd, &to.sa, to.len), EINPROGRESS);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	CHECK_ERR(connect(fd, &to.sa, to.len), ECONNREFUSED);
	to = listening_peer(s, 4);
	CHECK_ERR(connect(fd, &to.sa, to.len), EINPROGRESS);
	EVENTS_BECOME(fd, POLLOUT);
}

/* An address of the peer's network at which nobody is. */
static struct addr nobody(struct side *s)
{
	struct addr to = addr_port(&s->remote, 9);

	if (addr_is_loopback(&to))
		case_skip("loopback has no absent neighbours");
	if (to.sa.sa_family == AF_INET6)
		to.in6.sin6_addr.s6_addr[15] = 0xfd;
	else
		((uint8_t *)&to.in.sin_addr)[3] = 0xfd;
	return to;
}

static void host_unreachable(struct side *s)
{
	struct addr to = nobody(s);
	int fd = sock_new(s, 0);

	CHECK_ERR(connect(fd, &to.sa, to.len), EHOSTUNREACH);
	CHECK_EQ(sock_error(fd), 0);
}

static void host_unreachable_async(struct side *s)
{
	struct addr to = nobody(s);
	int fd = sock_new(s, SOCK_NONBLOCK);

	CHECK_ERR(connect(fd, &to.sa, to.len), EINPROGRESS);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	CHECK_EQ(sock_error(fd), EHOSTUNREACH);
}

static void net_unreachable(struct side *s)
{
	struct addr to = addr_any(s->family, 9);
	int fd = sock_new(s, 0), udp;

	if (s->family == AF_INET6)
		inet_pton(AF_INET6, "2001:db8:ffff::1", &to.in6.sin6_addr);
	else
		inet_pton(AF_INET, "192.0.2.1", &to.in.sin_addr);
	udp = CHECK_OK(socket(s->family, SOCK_DGRAM, 0));
	if (connect(udp, &to.sa, to.len) == 0 || errno != ENETUNREACH)
		case_skip("this host has a route to everywhere");
	CHECK_ERR(connect(fd, &to.sa, to.len), ENETUNREACH);
}

/* A listener with a full backlog answers no SYN: TCP_SYNCNT bounds the wait. */
static void timed_out(struct side *s)
{
	int full = sock_connecting(s), fd;
	struct addr to = addr_port(&s->remote, PEER_OK(s, AGENT_NAME, H_LISTEN,
						       0, 0));

	fd = sock_new(s, 0);
	sock_set(fd, IPPROTO_TCP, TCP_SYNCNT, 1);
	CHECK_ERR(connect(fd, &to.sa, to.len), ETIMEDOUT);
	CHECK_OK(close(full));
}

static void send_timeout(struct side *s)
{
	struct timeval t = { .tv_usec = 200000 };
	int full = sock_connecting(s), fd;
	struct addr to = addr_port(&s->remote, PEER_OK(s, AGENT_NAME, H_LISTEN,
						       0, 0));

	fd = sock_new(s, 0);
	CHECK_OK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)));
	CHECK_ERR(connect(fd, &to.sa, to.len), EINPROGRESS);
	CHECK_ERR(connect(fd, &to.sa, to.len), EALREADY);
	CHECK_OK(close(full));
}

static void wrong_arguments(struct side *s)
{
	struct addr to = listening_peer(s, 4), bad = to;
	int fd = sock_new(s, 0);

	bad.sa.sa_family = AF_UNIX;
	CHECK_ERR(connect(fd, &bad.sa, bad.len), EAFNOSUPPORT);
	CHECK_ERR(connect(fd, &to.sa, sizeof(to.sa.sa_family) - 1), EINVAL);
	CHECK_ERR(connect(fd, &to.sa, 8), EINVAL);
	CHECK_ERR(connect(fd, NULL, to.len), EFAULT);
	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
}

static void from_listener(struct side *s)
{
	struct addr to = listening_peer(s, 4);
	int fd = sock_listen(s, 4);

	CHECK_ERR(connect(fd, &to.sa, to.len), EISCONN);
}

static void disconnect(int fd)
{
	struct addr none = { .sa.sa_family = AF_UNSPEC,
			     .len = sizeof(struct sockaddr_in6) };

	CHECK_EQ(connect(fd, &none.sa, none.len), 0);
}

/* AF_UNSPEC takes a connection apart and the socket can be used again. */
static void unspec(struct side *s)
{
	int fd = pair(s);
	struct addr to = listening_peer(s, 4);
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	disconnect(fd);
	CHECK_ERR(getpeername(fd, (struct sockaddr *)&ss, &len), ENOTCONN);
	if (peer(s, AGENT_RECV_RAW, H_CONN, 0, 0) != -1 || errno != ECONNRESET)
		case_fail(__FILE__, __LINE__, "expected the peer to be reset");
	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	send_ours(fd, 0, 10);
	PEER_EQ(s, 10, AGENT_RECV, H_CONN, 0, 10);
}

/* The next connection's source is its own: of another network, another port. */
static void unspec_then_elsewhere(struct side *s)
{
	int listener = sock_listen(s, 4);
	struct addr here = s->family == AF_INET ?
		(struct addr){ .in = { AF_INET, 0, { htonl(INADDR_LOOPBACK) } },
			       .len = sizeof(here.in) } :
		(struct addr){ .in6 = { AF_INET6, 0, 0, IN6ADDR_LOOPBACK_INIT },
			       .len = sizeof(here.in6) };
	struct addr name = addr_local(listener);
	struct addr to = addr_port(&here, addr_get_port(&name));
	int fd = pair(s);
	uint16_t port;

	name = addr_local(fd);
	port = addr_get_port(&name);
	disconnect(fd);
	name = addr_local(fd);
	CHECK(addr_is_any(&name));
	/* Anybody may have it now. */
	CHECK_OK(close(sock_bound(s, port)));
	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	name = addr_local(fd);
	CHECK(addr_is_loopback(&name));
}

enum { BOUND_PORT = 7999 };

/* The socket is as new: it can be bound. */
static void unspec_then_bind(struct side *s)
{
	struct addr any = addr_any(s->family, BOUND_PORT);
	int fd = pair(s);

	disconnect(fd);
	CHECK_OK(bind(fd, &any.sa, any.len));
	CHECK_OK(listen(fd, 1));
}

/* The server sees it: it was connected. */
static void reset_at_once(struct side *s)
{
	struct addr to = listening_peer(s, 4);
	struct linger now = { .l_onoff = 1, .l_linger = 0 };
	int fd, i;

	for (i = 0; i < 5; i++) {
		fd = sock_new(s, 0);
		CHECK_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
		CHECK_EQ(connect(fd, &to.sa, to.len), 0);
		CHECK_OK(close(fd));
		PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
		if (peer(s, AGENT_RECV_RAW, H_CONN, 0, 0) != -1 || errno != ECONNRESET)
			case_fail(__FILE__, __LINE__, "expected the peer to be reset");
		PEER_OK(s, AGENT_CLOSE, H_CONN, 0, 0);
	}
}

static void set_port_range(const char *range)
{
	int fd = CHECK_OK(open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY));

	CHECK_EQ(write(fd, range, strlen(range)), strlen(range));
	CHECK_OK(close(fd));
}

static void get_port_range(char *range, size_t size)
{
	int fd = CHECK_OK(open("/proc/sys/net/ipv4/ip_local_port_range", O_RDONLY));
	ssize_t len = CHECK_OK(read(fd, range, size - 1));

	range[len] = 0;
	CHECK_OK(close(fd));
}

/* Without a free port nothing has happened, and the address is still the user's. */
static void no_port_left(struct side *s)
{
	struct addr to = listening_peer(s, 4);
	struct addr from = addr_port(&s->local, 0);
	int fd = sock_new(s, 0), holder = sock_bound(s, 30000);
	char range[64];
	struct addr name;
	int err;

	sock_set(fd, SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	CHECK_OK(bind(fd, &from.sa, from.len));
	CHECK_OK(listen(holder, 1));
	get_port_range(range, sizeof(range));
	set_port_range("30000 30000");
	err = connect(fd, &to.sa, to.len) ? errno : 0;
	set_port_range(range);
	CHECK_EQ(err, EADDRNOTAVAIL);
	name = addr_local(fd);
	CHECK(addr_same_host(&name, &s->local));
	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	name = addr_local(fd);
	CHECK(addr_same_host(&name, &s->local));
}

/* What was bound stays bound. */
static void unspec_bound(struct side *s)
{
	struct addr to = listening_peer(s, 4);
	int fd = sock_bound(s, BOUND_PORT);
	struct addr name;
	int i;

	for (i = 0; i < 2; i++) {
		CHECK_EQ(connect(fd, &to.sa, to.len), 0);
		PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN + i, 0);
		name = addr_local(fd);
		CHECK_EQ(addr_get_port(&name), BOUND_PORT);
		disconnect(fd);
	}
}

/* IP_BIND_ADDRESS_NO_PORT: the address now, the port with connect(). */
static void bound_without_port(struct side *s)
{
	struct addr to = listening_peer(s, 4);
	struct addr from = addr_port(&s->local, 0);
	int fd = sock_new(s, 0);
	struct addr name;

	sock_set(fd, SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	CHECK_OK(bind(fd, &from.sa, from.len));
	name = addr_local(fd);
	CHECK_EQ(addr_get_port(&name), 0);
	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	name = addr_local(fd);
	CHECK(addr_get_port(&name) != 0);
	CHECK(addr_same_host(&name, &s->local));
	PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	send_ours(fd, 0, 10);
	PEER_EQ(s, 10, AGENT_RECV, H_CONN, 0, 10);
}

static void names_unconnected(struct side *s)
{
	int fd = sock_new(s, 0);
	struct addr name = addr_local(fd);
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	CHECK_EQ(name.sa.sa_family, s->family);
	CHECK_EQ(addr_get_port(&name), 0);
	CHECK(addr_is_any(&name));
	CHECK_ERR(getpeername(fd, (struct sockaddr *)&ss, &len), ENOTCONN);
}

static void names_connected(struct side *s)
{
	struct addr to = listening_peer(s, 4), ours, theirs;
	int fd = sock_new(s, 0);

	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	ours = addr_local(fd);
	theirs = addr_peer(fd);
	CHECK_EQ(ours.len, to.len);
	CHECK_EQ(theirs.len, to.len);
	CHECK_EQ(ours.sa.sa_family, s->family);
	CHECK_EQ(theirs.sa.sa_family, s->family);
	CHECK(addr_get_port(&ours) != 0);
	CHECK(addr_same_host(&ours, &s->local));
	CHECK_EQ(addr_get_port(&theirs), addr_get_port(&to));
	CHECK(addr_same_host(&theirs, &s->remote));
	PEER_EQ(s, addr_get_port(&ours), AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	PEER_EQ(s, addr_get_port(&to), AGENT_NAME, H_CONN, 0, 0);
}

static void names_short(struct side *s)
{
	struct addr to = listening_peer(s, 4), name;
	int fd = sock_new(s, 0);
	socklen_t len = sizeof(sa_family_t);

	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	memset(&name, 0xee, sizeof(name));
	CHECK_OK(getpeername(fd, &name.sa, &len));
	CHECK_EQ(len, to.len);
	CHECK_EQ(name.sa.sa_family, s->family);
	CHECK_EQ(name.sa.sa_data[0], (char)0xee);
	CHECK_ERR(getpeername(fd, NULL, &len), EFAULT);
	CHECK_ERR(getsockname(fd, NULL, &len), EFAULT);
}

static void bound(struct side *s)
{
	struct addr to = listening_peer(s, 4), name;
	int fd = sock_new(s, 0);
	int port;

	CHECK_OK(bind(fd, &s->local.sa, s->local.len));
	name = addr_local(fd);
	port = addr_get_port(&name);
	CHECK(port != 0);
	CHECK(addr_same_host(&name, &s->local));
	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	name = addr_local(fd);
	CHECK_EQ(addr_get_port(&name), port);
	PEER_EQ(s, port, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
}

/* An IPv6 socket that dials an IPv4 host. */
static void v4_mapped(struct side *s)
{
	struct addr to, name;
	int fd, port;

	if (s->family != AF_INET)
		case_skip("part of the IPv4 run");
	to = listening_peer(s, 4);
	port = addr_get_port(&to);
	name = addr_any(AF_INET6, port);
	inet_pton(AF_INET6, "::ffff:0.0.0.0", &name.in6.sin6_addr);
	memcpy(&name.in6.sin6_addr.s6_addr[12], &to.in.sin_addr, 4);
	fd = CHECK_OK(socket(AF_INET6, SOCK_STREAM, s->proto));
	CHECK_EQ(connect(fd, &name.sa, name.len), 0);
	name = addr_peer(fd);
	CHECK_EQ(name.sa.sa_family, AF_INET6);
	CHECK_EQ(addr_get_port(&name), port);
	name = addr_unmap(&name);
	CHECK(addr_same_host(&name, &s->remote));
	name = addr_local(fd);
	CHECK_EQ(name.sa.sa_family, AF_INET6);
	name = addr_unmap(&name);
	CHECK(addr_same_host(&name, &s->local));
	PEER_EQ(s, addr_get_port(&name), AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	send_ours(fd, 0, 10);
	PEER_EQ(s, 10, AGENT_RECV, H_CONN, 0, 10);
}

/* What connect() does to find its source is not the user's setting. */
static void v6only_stays(struct side *s)
{
	int fd;

	if (s->family != AF_INET6)
		case_skip("part of the IPv6 run");
	fd = pair(s);
	CHECK_EQ(sock_get(fd, IPPROTO_IPV6, IPV6_V6ONLY), 0);
}

const struct test_case connect_cases[] = {
	{ "connect.blocking", blocking, 0 },
	{ "connect.nonblocking", nonblocking, 0 },
	{ "connect.in_progress", in_progress, 0 },
	{ "connect.closed_in_progress", closed_in_progress, 0 },
	{ "connect.refused", refused, 0 },
	{ "connect.refused_then_accepted", refused_then_accepted, 0 },
	{ "connect.refused_async", refused_async, 0 },
	{ "connect.refused_async_recv", refused_async_recv, 0 },
	{ "connect.refused_async_connect", refused_async_connect, 0 },
	{ "connect.host_unreachable", host_unreachable, 0 },
	{ "connect.host_unreachable_async", host_unreachable_async, 0 },
	{ "connect.net_unreachable", net_unreachable, 0 },
	{ "connect.timed_out", timed_out, 0 },
	{ "connect.send_timeout", send_timeout, 0 },
	{ "connect.wrong_arguments", wrong_arguments, 0 },
	{ "connect.from_listener", from_listener, 0 },
	{ "connect.unspec", unspec, 0 },
	{ "connect.unspec_then_elsewhere", unspec_then_elsewhere, 0 },
	{ "connect.unspec_bound", unspec_bound, 0 },
	{ "connect.unspec_then_bind", unspec_then_bind, 0 },
	{ "connect.reset_at_once", reset_at_once, 0 },
	{ "connect.no_port_left", no_port_left, 0 },
	{ "connect.bound_without_port", bound_without_port, 0 },
	{ "connect.names_unconnected", names_unconnected, 0 },
	{ "connect.names_connected", names_connected, 0 },
	{ "connect.names_short", names_short, 0 },
	{ "connect.bound", bound, 0 },
	{ "connect.v4_mapped", v4_mapped, 0 },
	{ "connect.v6only_stays", v6only_stays, 0 },
	{ 0 },
};
