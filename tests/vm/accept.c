// SPDX-License-Identifier: MIT
/*
 * bind, listen and accept: addresses in use, backlog, flags, names, dual
 * stack, and what ends before it is accepted.
 */
#include "harness.h"

/* Our listener and one connection of the agent's (H_CONN) waiting in it. */
static int listener_with_client(struct side *s, long long *client_port)
{
	int lfd = sock_listen(s, 16);
	struct addr name = addr_local(lfd);

	*client_port = PEER_OK(s, AGENT_CONNECT, H_CONN, addr_get_port(&name),
			       0);
	return lfd;
}

static void flags(struct side *s)
{
	long long port;
	int lfd = listener_with_client(s, &port), fd;

	sock_nonblock(lfd, true);
	EVENTS_BECOME(lfd, POLLIN);
	fd = CHECK_OK(accept4(lfd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	port = addr_get_port((struct addr[]){ addr_local(lfd) });
	PEER_OK(s, AGENT_CONNECT, H_CONN + 1, port, 0);
	EVENTS_BECOME(lfd, POLLIN);
	fd = CHECK_OK(accept(lfd, NULL, NULL));
	CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	CHECK_EQ(fcntl(fd, F_GETFD), 0);
	CHECK_ERR(accept4(lfd, NULL, NULL, 0x1000), EINVAL);
}

static void nobody_waiting(struct side *s)
{
	struct timeval t = { .tv_usec = 100000 };
	int lfd = sock_listen(s, 4);

	EVENTS_ARE(lfd, 0);
	CHECK_OK(setsockopt(lfd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)));
	CHECK_ERR(accept(lfd, NULL, NULL), EAGAIN);
	sock_nonblock(lfd, true);
	CHECK_ERR(accept(lfd, NULL, NULL), EAGAIN);
	EVENTS_ARE(lfd, 0);
}

static void bind_accepted(struct side *s)
{
	struct addr any = addr_any(s->family, 0);
	long long port;
	int lfd = listener_with_client(s, &port);
	int fd = CHECK_OK(accept(lfd, NULL, NULL));

	CHECK_ERR(bind(fd, &any.sa, any.len), EINVAL);
}

static void not_listening(struct side *s)
{
	int fd = sock_new(s, 0);

	CHECK_ERR(accept(fd, NULL, NULL), EINVAL);
	CHECK_ERR(accept(pair(s), NULL, NULL), EINVAL);
}

static void blocked(struct side *s)
{
	int lfd = sock_listen(s, 4);
	struct addr name = addr_local(lfd);
	int fd;

	peer_start(s, 200, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	fd = CHECK_OK(accept(lfd, NULL, NULL));
	CHECK_OK(peer_wait(s));
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	recv_theirs(fd, 0, 10);
}

static void names(struct side *s)
{
	long long port;
	int lfd = listener_with_client(s, &port), fd;
	struct addr from = { .len = sizeof(from.ss) }, name, listening;

	listening = addr_local(lfd);
	CHECK(addr_is_any(&listening));
	fd = CHECK_OK(accept(lfd, &from.sa, &from.len));
	CHECK_EQ(from.len, s->remote.len);
	CHECK_EQ(from.sa.sa_family, s->family);
	CHECK_EQ(addr_get_port(&from), port);
	CHECK(addr_same_host(&from, &s->remote));
	name = addr_peer(fd);
	CHECK_EQ(addr_get_port(&name), port);
	CHECK(addr_same_host(&name, &s->remote));
	name = addr_local(fd);
	CHECK_EQ(name.sa.sa_family, s->family);
	CHECK_EQ(addr_get_port(&name), addr_get_port(&listening));
	CHECK(addr_same_host(&name, &s->local));
}

static void name_short(struct side *s)
{
	long long port;
	int lfd = listener_with_client(s, &port);
	struct addr from;
	socklen_t len = sizeof(sa_family_t);

	memset(&from, 0xee, sizeof(from));
	CHECK_OK(accept(lfd, &from.sa, &len));
	CHECK_EQ(len, s->remote.len);
	CHECK_EQ(from.sa.sa_family, s->family);
	CHECK_EQ(from.sa.sa_data[0], (char)0xee);
}

static void name_fault(struct side *s)
{
	long long port;
	int lfd = listener_with_client(s, &port);
	socklen_t len = sizeof(struct sockaddr_storage);

	CHECK_ERR(accept(lfd, (struct sockaddr *)8, &len), EFAULT);
	CHECK_OK(shutdown(lfd, SHUT_RD));
}

static void connect_mapped(struct side *s, int lfd)
{
	struct addr name = addr_local(lfd), from = { .len = sizeof(from.ss) };
	long long port;
	int fd;

	port = PEER_OK(s, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	fd = CHECK_OK(accept(lfd, &from.sa, &from.len));
	CHECK_EQ(from.sa.sa_family, AF_INET6);
	CHECK(IN6_IS_ADDR_V4MAPPED(&from.in6.sin6_addr));
	CHECK_EQ(addr_get_port(&from), port);
	from = addr_unmap(&from);
	CHECK(addr_same_host(&from, &s->remote));
	name = addr_local(fd);
	CHECK(IN6_IS_ADDR_V4MAPPED(&name.in6.sin6_addr));
	name = addr_unmap(&name);
	CHECK(addr_same_host(&name, &s->local));
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	recv_theirs(fd, 0, 10);
}

/* An IPv6 wildcard listener takes IPv4 clients, and says so in names. */
static void dual_stack(struct side *s)
{
	struct addr any = addr_any(AF_INET6, 0);
	int lfd;

	if (s->family != AF_INET)
		case_skip("part of the IPv4 run");
	lfd = CHECK_OK(socket(AF_INET6, SOCK_STREAM, s->proto));
	sock_set(lfd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	CHECK_OK(bind(lfd, &any.sa, any.len));
	CHECK_OK(listen(lfd, 4));
	connect_mapped(s, lfd);
}

static void v6_only(struct side *s)
{
	struct addr any = addr_any(AF_INET6, 0), name;
	int lfd, v4;

	if (s->family != AF_INET)
		case_skip("part of the IPv4 run");
	lfd = CHECK_OK(socket(AF_INET6, SOCK_STREAM, s->proto));
	sock_set(lfd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	CHECK_OK(bind(lfd, &any.sa, any.len));
	CHECK_OK(listen(lfd, 4));
	name = addr_local(lfd);
	if (peer(s, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0) != -1 ||
	    errno != ECONNREFUSED)
		case_fail(__FILE__, __LINE__, "expected ECONNREFUSED");
	v4 = sock_bound(s, addr_get_port(&name));
	CHECK_OK(listen(v4, 4));
	PEER_OK(s, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	CHECK_OK(accept(v4, NULL, NULL));
}

static void specific_address(struct side *s)
{
	int lfd = sock_new(s, 0), fd;
	struct addr name;

	CHECK_OK(bind(lfd, &s->local.sa, s->local.len));
	CHECK_OK(listen(lfd, 4));
	name = addr_local(lfd);
	CHECK(addr_same_host(&name, &s->local));
	PEER_OK(s, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	fd = CHECK_OK(accept(lfd, NULL, NULL));
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	recv_theirs(fd, 0, 10);
}

/* A listener at loopback only is not there for the other host. */
static void loopback_address(struct side *s)
{
	struct addr name = addr_any(s->family, 0);
	int lfd = sock_new(s, 0);

	if (addr_is_loopback(&s->remote))
		case_skip("both roles on one host");
	if (s->family == AF_INET6)
		name.in6.sin6_addr = in6addr_loopback;
	else
		name.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_OK(bind(lfd, &name.sa, name.len));
	CHECK_OK(listen(lfd, 4));
	name = addr_local(lfd);
	if (peer(s, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0) != -1 ||
	    errno != ECONNREFUSED)
		case_fail(__FILE__, __LINE__, "expected ECONNREFUSED");
}

static void in_use(struct side *s)
{
	int lfd = sock_listen(s, 4);
	struct addr name = addr_local(lfd);
	struct addr any = addr_any(s->family, addr_get_port(&name));
	int fd = sock_new(s, 0), tcp;

	CHECK_ERR(bind(fd, &any.sa, any.len), EADDRINUSE);
	sock_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	CHECK_ERR(bind(fd, &any.sa, any.len), EADDRINUSE);
	tcp = CHECK_OK(socket(s->family, SOCK_STREAM, 0));
	CHECK_ERR(bind(tcp, &any.sa, any.len), EADDRINUSE);
	CHECK_OK(close(lfd));
	CHECK_EQ(bind(fd, &any.sa, any.len), 0);
}

/* The port of a plain TCP listener is taken for everybody. */
static void in_use_by_tcp(struct side *s)
{
	struct addr any = addr_any(s->family, 0);
	int tcp = CHECK_OK(socket(s->family, SOCK_STREAM, 0));
	int fd = sock_new(s, 0);

	CHECK_OK(bind(tcp, &any.sa, any.len));
	CHECK_OK(listen(tcp, 4));
	any = addr_local(tcp);
	CHECK_ERR(bind(fd, &any.sa, any.len), EADDRINUSE);
}

static void reuse_address(struct side *s)
{
	struct addr any = addr_any(s->family, 0);
	int a = sock_new(s, 0), b = sock_new(s, 0);

	sock_set(a, SOL_SOCKET, SO_REUSEADDR, 1);
	sock_set(b, SOL_SOCKET, SO_REUSEADDR, 1);
	CHECK_OK(bind(a, &any.sa, any.len));
	any = addr_local(a);
	CHECK_EQ(bind(b, &any.sa, any.len), 0);
	CHECK_EQ(listen(a, 4), 0);
	CHECK_ERR(listen(b, 4), EADDRINUSE);
}

/* A server that restarts can bind its port over its old connections. */
static void restart(struct side *s)
{
	int lfd = sock_new(s, 0), fd;
	struct addr any = addr_any(s->family, 0);

	sock_set(lfd, SOL_SOCKET, SO_REUSEADDR, 1);
	CHECK_OK(bind(lfd, &any.sa, any.len));
	CHECK_OK(listen(lfd, 4));
	any = addr_local(lfd);
	PEER_OK(s, AGENT_CONNECT, H_CONN, addr_get_port(&any), 0);
	fd = CHECK_OK(accept(lfd, NULL, NULL));
	CHECK_OK(close(lfd));
	lfd = sock_new(s, 0);
	sock_set(lfd, SOL_SOCKET, SO_REUSEADDR, 1);
	CHECK_EQ(bind(lfd, &any.sa, any.len), 0);
	CHECK_EQ(listen(lfd, 4), 0);
	PEER_OK(s, AGENT_CONNECT, H_CONN + 1, addr_get_port(&any), 0);
	CHECK_OK(accept(lfd, NULL, NULL));
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	recv_theirs(fd, 0, 10);
}

static void reuse_port(struct side *s)
{
	struct addr any = addr_any(s->family, 0);
	struct pollfd p[2];

	for (int i = 0; i < 2; i++) {
		p[i] = (struct pollfd){ .fd = sock_new(s, 0),
					.events = POLLIN };
		sock_set(p[i].fd, SOL_SOCKET, SO_REUSEPORT, 1);
		CHECK_EQ(bind(p[i].fd, &any.sa, any.len), 0);
		CHECK_EQ(listen(p[i].fd, 64), 0);
		any = addr_local(p[0].fd);
	}
	PEER_OK(s, AGENT_CONNECT_MANY, H_CONN, addr_get_port(&any), 16);
	for (int taken = 0; taken < 16; taken++) {
		CHECK(poll(p, 2, PATIENCE_MS) > 0);
		CHECK_OK(accept(p[p[0].revents ? 0 : 1].fd, NULL, NULL));
	}
}

static void bind_errors(struct side *s)
{
	struct addr far = addr_any(s->family, 0), any = far, other;
	int fd = sock_new(s, 0);

	if (s->family == AF_INET6)
		inet_pton(AF_INET6, "2001:db8:ffff::1", &far.in6.sin6_addr);
	else
		inet_pton(AF_INET, "192.0.2.1", &far.in.sin_addr);
	CHECK_ERR(bind(fd, &far.sa, far.len), EADDRNOTAVAIL);
	CHECK_ERR(bind(fd, &any.sa, 8), EINVAL);
	other = any;
	other.sa.sa_family = AF_UNIX;
	CHECK_ERR(bind(fd, &other.sa, other.len), EAFNOSUPPORT);
	CHECK_ERR(bind(fd, NULL, any.len), EFAULT);
	CHECK_EQ(bind(fd, &any.sa, any.len), 0);
	CHECK_ERR(bind(fd, &any.sa, any.len), EINVAL);
	CHECK_ERR(bind(pair(s), &any.sa, any.len), EINVAL);
}

static void listen_states(struct side *s)
{
	int fd = sock_new(s, 0);
	struct addr name;

	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_ACCEPTCONN), 0);
	CHECK_EQ(listen(fd, 4), 0);
	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
	name = addr_local(fd);
	CHECK(addr_get_port(&name) != 0);
	CHECK_EQ(listen(fd, 8), 0);
	CHECK_ERR(listen(pair(s), 4), EINVAL);
	PEER_OK(s, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	CHECK_OK(accept(fd, NULL, NULL));
}

static void calls_on_listener(struct side *s)
{
	int lfd = sock_listen(s, 4);
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char byte;

	CHECK_ERR(recv(lfd, &byte, 1, 0), ENOTCONN);
	CHECK_ERR(send(lfd, "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_ERR(getpeername(lfd, (struct sockaddr *)&ss, &len), ENOTCONN);
	CHECK_EQ(shutdown(lfd, SHUT_WR), 0);
	EVENTS_ARE(lfd, 0);
}

static void many_pending(struct side *s)
{
	int lfd = sock_listen(s, 64);
	struct addr name = addr_local(lfd);
	int fds[40];

	PEER_EQ(s, 40, AGENT_CONNECT_MANY, H_CONN, addr_get_port(&name), 40);
	for (int i = 0; i < 40; i++) {
		name = (struct addr){ .len = sizeof(name.ss) };
		fds[i] = CHECK_OK(accept(lfd, &name.sa, &name.len));
		PEER_EQ(s, addr_get_port(&name), AGENT_NAME, H_CONN + i, 0, 0);
	}
	sock_nonblock(lfd, true);
	CHECK_ERR(accept(lfd, NULL, NULL), EAGAIN);
	PEER_EQ(s, 10, AGENT_SEND, H_CONN + 7, 0, 10);
	recv_theirs(fds[7], 0, 10);
}

/* A full backlog is a dropped SYN: later connects wait and then succeed. */
static void backlog_one(struct side *s)
{
	int lfd = sock_listen(s, 1);
	struct addr name = addr_local(lfd);
	int port = addr_get_port(&name);

	peer_start(s, 0, AGENT_CONNECT_MANY, H_CONN, port, 6);
	for (int i = 0; i < 6; i++)
		CHECK_OK(accept(lfd, NULL, NULL));
	CHECK_EQ(peer_wait(s), 6);
	sock_nonblock(lfd, true);
	CHECK_ERR(accept(lfd, NULL, NULL), EAGAIN);
}

static void data_and_end_before(struct side *s)
{
	long long port;
	int lfd = listener_with_client(s, &port), fd;
	char byte;

	PEER_EQ(s, 5000, AGENT_SEND, H_CONN, 0, 5000);
	PEER_OK(s, AGENT_CLOSE, H_CONN, 0, 0);
	fd = CHECK_OK(accept(lfd, NULL, NULL));
	recv_theirs(fd, 0, 5000);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
}

static void reset_before(struct side *s)
{
	long long port;
	int lfd = listener_with_client(s, &port), fd;
	char byte;

	PEER_OK(s, AGENT_RESET, H_CONN, 0, 0);
	sleep_ms(100);
	fd = CHECK_OK(accept(lfd, NULL, NULL));
	CHECK_ERR(recv(fd, &byte, 1, 0), ECONNRESET);
}

static void closed_listener_resets(struct side *s)
{
	long long port;
	int lfd = listener_with_client(s, &port);

	CHECK_OK(close(lfd));
	if (peer(s, AGENT_RECV_RAW, H_CONN, 0, 0) != -1 || errno != ECONNRESET)
		case_fail(__FILE__, __LINE__, "expected the peer to be reset");
}

static void *shut_later(void *arg)
{
	sleep_ms(300);
	shutdown(*(int *)arg, SHUT_RDWR);
	return NULL;
}

static void shutdown_wakes(struct side *s)
{
	int lfd = sock_listen(s, 4);
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, shut_later, &lfd), 0);
	CHECK_ERR(accept(lfd, NULL, NULL), EINVAL);
	pthread_join(thread, NULL);
	CHECK_ERR(accept(lfd, NULL, NULL), EINVAL);
	EVENTS_ARE(lfd, POLLOUT | POLLHUP);
	CHECK_EQ(listen(lfd, 4), 0);
	EVENTS_ARE(lfd, 0);
}

const struct test_case accept_cases[] = {
	{ "accept.flags", flags, 0 },
	{ "accept.nobody_waiting", nobody_waiting, 0 },
	{ "accept.not_listening", not_listening, 0 },
	{ "accept.bind_accepted", bind_accepted, 0 },
	{ "accept.blocked", blocked, 0 },
	{ "accept.names", names, 0 },
	{ "accept.name_short", name_short, 0 },
	{ "accept.name_fault", name_fault, 0 },
	{ "accept.dual_stack", dual_stack, 0 },
	{ "accept.v6_only", v6_only, 0 },
	{ "accept.specific_address", specific_address, 0 },
	{ "accept.loopback_address", loopback_address, 0 },
	{ "accept.data_and_end_before", data_and_end_before, 0 },
	{ "accept.reset_before", reset_before, 0 },
	{ "accept.shutdown_wakes", shutdown_wakes, 0 },
	{ "bind.in_use", in_use, 0 },
	{ "bind.in_use_by_tcp", in_use_by_tcp, 0 },
	{ "bind.reuse_address", reuse_address, 0 },
	{ "bind.reuse_port", reuse_port, 0 },
	{ "bind.restart", restart, 0 },
	{ "bind.errors", bind_errors, 0 },
	{ "listen.states", listen_states, 0 },
	{ "listen.calls", calls_on_listener, 0 },
	{ "listen.many_pending", many_pending, 0 },
	{ "listen.backlog_one", backlog_one, 0 },
	{ "listen.close_resets_pending", closed_listener_resets, 0 },
	{ 0 },
};
