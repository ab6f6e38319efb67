// SPDX-License-Identifier: MIT
/*
 * Socket options: set and read back, wrong ones, facts about a socket, and
 * what an accepted socket inherits.
 */
#include "harness.h"

struct option_case {
	const char *name;
	int level;
	int option;
	int value;
	int want;
};

#define OPTION(level, option, value, want) \
	{ #option, level, option, value, want }

static const struct option_case any_state[] = {
	OPTION(SOL_SOCKET, SO_REUSEADDR, 1, 1),
	OPTION(SOL_SOCKET, SO_REUSEADDR, 0, 0),
	OPTION(SOL_SOCKET, SO_REUSEPORT, 1, 1),
	OPTION(SOL_SOCKET, SO_KEEPALIVE, 1, 1),
	OPTION(SOL_SOCKET, SO_KEEPALIVE, 7, 1),
	OPTION(SOL_SOCKET, SO_KEEPALIVE, 0, 0),
	OPTION(SOL_SOCKET, SO_OOBINLINE, 1, 1),
	OPTION(SOL_SOCKET, SO_DONTROUTE, 0, 0),
	OPTION(SOL_SOCKET, SO_PRIORITY, 3, 3),
	OPTION(SOL_SOCKET, SO_SNDBUF, 50000, 100000),
	OPTION(SOL_SOCKET, SO_RCVBUF, 60000, 120000),
	OPTION(SOL_SOCKET, SO_SNDBUF, 1, 4608),
	OPTION(SOL_SOCKET, SO_RCVBUF, 1, 2304),
	OPTION(SOL_SOCKET, SO_RCVBUF, 60000, 120000),
	OPTION(SOL_SOCKET, SO_RCVLOWAT, 100, 100),
	OPTION(SOL_SOCKET, SO_RCVLOWAT, 0, 1),
	OPTION(SOL_SOCKET, SO_TIMESTAMP, 0, 0),
	OPTION(IPPROTO_TCP, TCP_NODELAY, 1, 1),
	OPTION(IPPROTO_TCP, TCP_NODELAY, 0, 0),
	OPTION(IPPROTO_TCP, TCP_CORK, 1, 1),
	OPTION(IPPROTO_TCP, TCP_CORK, 0, 0),
	OPTION(IPPROTO_TCP, TCP_QUICKACK, 0, 0),
	OPTION(IPPROTO_TCP, TCP_QUICKACK, 1, 1),
	OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT, 5000, 5000),
	OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT, 0, 0),
	OPTION(IPPROTO_TCP, TCP_KEEPIDLE, 30, 30),
	OPTION(IPPROTO_TCP, TCP_KEEPINTVL, 5, 5),
	OPTION(IPPROTO_TCP, TCP_KEEPCNT, 4, 4),
	OPTION(IPPROTO_TCP, TCP_SYNCNT, 3, 3),
	OPTION(IPPROTO_TCP, TCP_LINGER2, 10, 10),
	OPTION(IPPROTO_TCP, TCP_LINGER2, -1, -1),
	OPTION(IPPROTO_TCP, TCP_NOTSENT_LOWAT, 16384, 16384),
	{ NULL, 0, 0, 0, 0 },
};

static const struct option_case v4_options[] = {
	OPTION(IPPROTO_IP, IP_TOS, 0x10, 0x10),
	OPTION(IPPROTO_IP, IP_TTL, 33, 33),
	OPTION(IPPROTO_IP, IP_FREEBIND, 1, 1),
	OPTION(IPPROTO_IP, IP_TRANSPARENT, 0, 0),
	{ NULL, 0, 0, 0, 0 },
};

static const struct option_case v6_options[] = {
	OPTION(IPPROTO_IPV6, IPV6_UNICAST_HOPS, 33, 33),
	OPTION(IPPROTO_IPV6, IPV6_TCLASS, 0x10, 0x10),
	OPTION(IPPROTO_IPV6, IPV6_TRANSPARENT, 0, 0),
	{ NULL, 0, 0, 0, 0 },
};

static void try_options(int fd, const struct option_case *list)
{
	for (const struct option_case *c = list; c->name; c++) {
		socklen_t len = sizeof(int);
		int got = ~c->want;

		if (setsockopt(fd, c->level, c->option, &c->value, sizeof(int)))
			case_fail(__FILE__, __LINE__, "set %s to %d: %s",
				  c->name, c->value, strerrorname_np(errno));
		if (getsockopt(fd, c->level, c->option, &got, &len))
			case_fail(__FILE__, __LINE__, "get %s: %s", c->name,
				  strerrorname_np(errno));
		if (got != c->want || len != sizeof(int))
			case_fail(__FILE__, __LINE__,
				  "%s set to %d: expected %d, got %d", c->name,
				  c->value, c->want, got);
	}
}

static void try_all(struct side *s, int fd)
{
	try_options(fd, any_state);
	try_options(fd, s->family == AF_INET ? v4_options : v6_options);
}

static void unconnected(struct side *s)
{
	int fd = sock_new(s, 0);

	CHECK_EQ(sock_get(fd, IPPROTO_TCP, TCP_QUICKACK), 1);
	try_all(s, fd);
	sock_set(fd, IPPROTO_TCP, TCP_MAXSEG, 1000);
	CHECK_EQ(sock_get(fd, IPPROTO_TCP, TCP_MAXSEG), 1000);
	sock_set(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, 1);
	CHECK(sock_get(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT) >= 1);
}

static void listening(struct side *s)
{
	try_all(s, sock_listen(s, 4));
}

static void connected(struct side *s)
{
	int fd = pair(s);

	try_all(s, fd);
	CHECK(sock_get(fd, IPPROTO_TCP, TCP_MAXSEG) >= 500);
	send_ours(fd, 0, 5000);
	PEER_EQ(s, 5000, AGENT_RECV, H_CONN, 0, 5000);
	PEER_EQ(s, 5000, AGENT_SEND, H_CONN, 0, 5000);
	recv_theirs(fd, 0, 5000);
}

static void structures(struct side *s)
{
	struct linger l = { .l_onoff = 1, .l_linger = 12 };
	struct timeval t = { .tv_sec = 3, .tv_usec = 500000 };
	int fd = sock_new(s, 0);
	socklen_t len = sizeof(l);

	CHECK_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	memset(&l, 0, sizeof(l));
	CHECK_OK(getsockopt(fd, SOL_SOCKET, SO_LINGER, &l, &len));
	CHECK_EQ(len, sizeof(l));
	CHECK_EQ(l.l_onoff, 1);
	CHECK_EQ(l.l_linger, 12);
	for (int i = 0; i < 2; i++) {
		int option = i ? SO_RCVTIMEO : SO_SNDTIMEO;

		t = (struct timeval){ .tv_sec = 3, .tv_usec = 500000 };
		CHECK_OK(setsockopt(fd, SOL_SOCKET, option, &t, sizeof(t)));
		memset(&t, 0, sizeof(t));
		len = sizeof(t);
		CHECK_OK(getsockopt(fd, SOL_SOCKET, option, &t, &len));
		CHECK_EQ(t.tv_sec, 3);
		CHECK(t.tv_usec >= 490000 && t.tv_usec <= 510000);
		t.tv_usec = 2000000;
		CHECK_ERR(setsockopt(fd, SOL_SOCKET, option, &t, sizeof(t)),
			  EDOM);
	}
}

static void congestion(struct side *s)
{
	char name[16] = "";
	socklen_t len = sizeof(name);
	int fd = sock_new(s, 0);

	CHECK_OK(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len));
	CHECK_EQ(len, 16);
	CHECK(name[0] != 0);
	CHECK_OK(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4));
	CHECK_OK(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len));
	CHECK(!strcmp(name, "reno"));
	CHECK_ERR(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "nosuch", 6),
		  ENOENT);
}

static int tcp_state(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(&info, 0xff, sizeof(info));
	CHECK_OK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	CHECK(len >= offsetof(struct tcp_info, tcpi_total_retrans) + 4);
	return info.tcpi_state;
}

static void info(struct side *s)
{
	struct tcp_info info;
	socklen_t len = 1;
	int fd = sock_new(s, 0);

	CHECK_EQ(tcp_state(fd), TCP_CLOSE);
	CHECK_EQ(tcp_state(sock_listen(s, 4)), TCP_LISTEN);
	fd = pair(s);
	CHECK_EQ(tcp_state(fd), TCP_ESTABLISHED);
	CHECK_OK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	CHECK_EQ(len, 1);
	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP);
	CHECK_EQ(tcp_state(fd), TCP_CLOSE_WAIT);
}

struct wrong_case {
	int level;
	int option;
	int value;
	int want;
};

static const struct wrong_case wrong_sets[] = {
	{ SOL_SOCKET, 9999, 1, ENOPROTOOPT },
	{ SOL_SOCKET, SO_TYPE, 1, ENOPROTOOPT },
	{ SOL_SOCKET, SO_ERROR, 1, ENOPROTOOPT },
	{ SOL_SOCKET, SO_DOMAIN, 1, ENOPROTOOPT },
	{ SOL_SOCKET, SO_PROTOCOL, 1, ENOPROTOOPT },
	{ SOL_SOCKET, SO_ACCEPTCONN, 1, ENOPROTOOPT },
	{ IPPROTO_TCP, 9999, 1, ENOPROTOOPT },
	{ IPPROTO_TCP, TCP_INFO, 1, ENOPROTOOPT },
	{ IPPROTO_TCP, TCP_KEEPIDLE, 0, EINVAL },
	{ IPPROTO_TCP, TCP_KEEPIDLE, 40000, EINVAL },
	{ IPPROTO_TCP, TCP_KEEPINTVL, 0, EINVAL },
	{ IPPROTO_TCP, TCP_KEEPCNT, 0, EINVAL },
	{ IPPROTO_TCP, TCP_KEEPCNT, 200, EINVAL },
	{ IPPROTO_TCP, TCP_SYNCNT, 0, EINVAL },
	{ IPPROTO_TCP, TCP_MAXSEG, 1, EINVAL },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT, -1, EINVAL },
	{ IPPROTO_UDP, 1, 1, ENOPROTOOPT },
	{ 12345, 1, 1, ENOPROTOOPT },
};

static void wrong(struct side *s)
{
	int fd = sock_new(s, 0), value = 1;
	socklen_t len = sizeof(int);

	for (size_t i = 0; i < sizeof(wrong_sets) / sizeof(wrong_sets[0]); i++) {
		const struct wrong_case *c = &wrong_sets[i];
		int rc = setsockopt(fd, c->level, c->option, &c->value,
				    sizeof(int));

		if (rc != -1 || errno != c->want)
			case_fail(__FILE__, __LINE__,
				  "set %d/%d to %d: expected %s, got %s",
				  c->level, c->option, c->value,
				  strerrorname_np(c->want),
				  rc ? strerrorname_np(errno) : "success");
	}
	CHECK_ERR(getsockopt(fd, SOL_SOCKET, 9999, &value, &len), ENOPROTOOPT);
	CHECK_ERR(getsockopt(fd, IPPROTO_TCP, 9999, &value, &len), ENOPROTOOPT);
	CHECK_ERR(getsockopt(fd, 12345, 1, &value, &len),
		  s->family == AF_INET ? EOPNOTSUPP : ENOPROTOOPT);
}

static void wrong_pointers(struct side *s)
{
	int fd = sock_new(s, 0), value = 1;
	socklen_t len = sizeof(int);

	CHECK_ERR(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, 2), EINVAL);
	CHECK_ERR(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, 2), EINVAL);
	CHECK_ERR(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, (void *)8, 4),
		  EFAULT);
	CHECK_ERR(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, (void *)8, 4),
		  EFAULT);
	CHECK_ERR(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, NULL),
		  EFAULT);
	CHECK_ERR(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, (void *)8, &len),
		  EFAULT);
	len = 2;
	CHECK_OK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &len));
	CHECK_EQ(len, 2);
	len = 64;
	CHECK_OK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &len));
	CHECK_EQ(len, sizeof(int));
}

static int proto_number(const struct side *s)
{
	return s->proto ? s->proto : IPPROTO_TCP;
}

static void facts(struct side *s)
{
	int fd = sock_new(s, 0);

	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_DOMAIN), s->family);
	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_PROTOCOL), proto_number(s));
	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_ACCEPTCONN), 0);
	CHECK_EQ(sock_error(fd), 0);
	CHECK_ERR(socket(s->family, SOCK_DGRAM, s->proto ? s->proto :
			 IPPROTO_TCP), EPROTONOSUPPORT);
}

/* An accepted plain TCP client may be a plain TCP socket. */
static void facts_connected(struct side *s)
{
	int fd = pair(s), proto;

	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_DOMAIN), s->family);
	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_ACCEPTCONN), 0);
	proto = sock_get(fd, SOL_SOCKET, SO_PROTOCOL);
	if (!s->accepting)
		CHECK_EQ(proto, proto_number(s));
	else
		CHECK(proto == IPPROTO_TCP || proto == proto_number(s));
}

static void error_is_read_once(struct side *s)
{
	int fd = pair(s);

	PEER_OK(s, AGENT_RESET, H_CONN, 0, 0);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	CHECK_EQ(sock_error(fd), ECONNRESET);
	CHECK_EQ(sock_error(fd), 0);
}

static void inherited(struct side *s)
{
	struct linger l = { .l_onoff = 1, .l_linger = 12 };
	socklen_t len = sizeof(l);
	int lfd = sock_bound(s, 0), fd;
	struct addr name = addr_local(lfd);

	sock_set(lfd, SOL_SOCKET, SO_KEEPALIVE, 1);
	sock_set(lfd, SOL_SOCKET, SO_RCVBUF, 60000);
	sock_set(lfd, SOL_SOCKET, SO_SNDBUF, 50000);
	sock_set(lfd, IPPROTO_TCP, TCP_NODELAY, 1);
	sock_set(lfd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
	sock_set(lfd, IPPROTO_TCP, TCP_USER_TIMEOUT, 9000);
	CHECK_OK(setsockopt(lfd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	CHECK_OK(listen(lfd, 4));
	PEER_OK(s, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	fd = CHECK_OK(accept(lfd, NULL, NULL));
	memset(&l, 0, sizeof(l));
	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_RCVBUF), 120000);
	CHECK_EQ(sock_get(fd, SOL_SOCKET, SO_SNDBUF), 100000);
	CHECK_EQ(sock_get(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	CHECK_EQ(sock_get(fd, IPPROTO_TCP, TCP_KEEPIDLE), 30);
	CHECK_EQ(sock_get(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 9000);
	CHECK_OK(getsockopt(fd, SOL_SOCKET, SO_LINGER, &l, &len));
	CHECK_EQ(l.l_linger, 12);
}

static void buffers_bounded(struct side *s)
{
	int fd = sock_new(s, 0), most;

	sock_set(fd, SOL_SOCKET, SO_RCVBUF, INT32_MAX);
	most = sock_get(fd, SOL_SOCKET, SO_RCVBUF);
	CHECK(most >= 65536 && most < INT32_MAX);
	sock_set(fd, SOL_SOCKET, SO_SNDBUF, INT32_MAX);
	most = sock_get(fd, SOL_SOCKET, SO_SNDBUF);
	CHECK(most >= 65536 && most < INT32_MAX);
}

const struct test_case options_cases[] = {
	{ "options.unconnected", unconnected, 0 },
	{ "options.listening", listening, 0 },
	{ "options.connected", connected, BOTH_ENDS },
	{ "options.structures", structures, 0 },
	{ "options.congestion", congestion, 0 },
	{ "options.info", info, BOTH_ENDS },
	{ "options.wrong", wrong, 0 },
	{ "options.wrong_pointers", wrong_pointers, 0 },
	{ "options.facts", facts, 0 },
	{ "options.facts_connected", facts_connected, BOTH_ENDS },
	{ "options.error_is_read_once", error_is_read_once, BOTH_ENDS },
	{ "options.inherited", inherited, 0 },
	{ "options.buffers_bounded", buffers_bounded, 0 },
	{ 0 },
};
