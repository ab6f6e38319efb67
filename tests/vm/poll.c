// SPDX-License-Identifier: MIT
/*
 * poll and select: the exact events of every state of a socket, and that a
 * sleeping poll wakes.
 */
#include <sys/select.h>

#include "harness.h"

enum {
	ENDED = POLLIN | POLLOUT | POLLRDHUP | POLLHUP,
};

static void unconnected(struct side *s)
{
	EVENTS_ARE(sock_new(s, 0), POLLOUT | POLLHUP);
	EVENTS_ARE(sock_bound(s, 0), POLLOUT | POLLHUP);
}

static void listening(struct side *s)
{
	int lfd = sock_listen(s, 4);
	struct addr name = addr_local(lfd);

	EVENTS_ARE(lfd, 0);
	PEER_OK(s, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	EVENTS_BECOME(lfd, POLLIN);
	CHECK_OK(accept(lfd, NULL, NULL));
	EVENTS_ARE(lfd, 0);
}

static void connected(struct side *s)
{
	int fd = pair(s);

	EVENTS_ARE(fd, POLLOUT);
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	EVENTS_BECOME(fd, POLLIN | POLLOUT);
	recv_theirs(fd, 0, 9);
	EVENTS_ARE(fd, POLLIN | POLLOUT);
	recv_theirs(fd, 9, 1);
	EVENTS_ARE(fd, POLLOUT);
}

static void peer_half_closed(struct side *s)
{
	int fd = pair(s);

	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP);
	CHECK_OK(shutdown(fd, SHUT_WR));
	EVENTS_BECOME(fd, ENDED);
}

static void half_closed(struct side *s)
{
	int fd = pair(s);

	CHECK_OK(shutdown(fd, SHUT_WR));
	EVENTS_ARE(fd, POLLOUT);
	PEER_EQ(s, 0, AGENT_RECV_RAW, H_CONN, 0, 0);
	EVENTS_ARE(fd, POLLOUT);
	PEER_OK(s, AGENT_CLOSE, H_CONN, 0, 0);
	EVENTS_BECOME(fd, ENDED);
}

static void read_side_shut(struct side *s)
{
	int fd = pair(s);

	CHECK_OK(shutdown(fd, SHUT_RD));
	EVENTS_ARE(fd, POLLIN | POLLOUT | POLLRDHUP);
	CHECK_OK(shutdown(fd, SHUT_WR));
	EVENTS_ARE(fd, ENDED);
}

static void peer_closed(struct side *s)
{
	int fd = pair(s);

	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	PEER_OK(s, AGENT_CLOSE, H_CONN, 0, 0);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP);
	recv_theirs(fd, 0, 10);
	EVENTS_ARE(fd, POLLIN | POLLOUT | POLLRDHUP);
}

static void peer_reset(struct side *s)
{
	int fd = pair(s);

	PEER_OK(s, AGENT_RESET, H_CONN, 0, 0);
	EVENTS_BECOME(fd, ENDED | POLLERR);
	CHECK_EQ(sock_error(fd), ECONNRESET);
	EVENTS_ARE(fd, ENDED);
}

static void bad_descriptor(struct side *s)
{
	int fd = sock_new(s, 0);

	CHECK_OK(close(fd));
	EVENTS_ARE(fd, POLLNVAL);
}

static void wakes_for_data(struct side *s)
{
	int fd = pair(s);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	CHECK_EQ(poll(&p, 1, 50), 0);
	peer_start(s, 300, AGENT_SEND, H_CONN, 0, 10);
	CHECK_EQ(poll(&p, 1, PATIENCE_MS), 1);
	CHECK_EQ(p.revents, POLLIN);
	CHECK_EQ(peer_wait(s), 10);
}

static void wakes_for_end(struct side *s)
{
	int fd = pair(s);
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	peer_start(s, 300, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	CHECK_EQ(poll(&p, 1, PATIENCE_MS), 1);
	CHECK_EQ(p.revents, POLLRDHUP);
	CHECK_EQ(peer_wait(s), 0);
}

static void wakes_for_reset(struct side *s)
{
	int fd = pair(s);
	struct pollfd p = { .fd = fd, .events = 0 };

	peer_start(s, 300, AGENT_RESET, H_CONN, 0, 0);
	CHECK_EQ(poll(&p, 1, PATIENCE_MS), 1);
	CHECK_EQ(p.revents, POLLERR | POLLHUP);
	CHECK_EQ(peer_wait(s), 0);
}

static void wakes_for_client(struct side *s)
{
	int lfd = sock_listen(s, 4);
	struct addr name = addr_local(lfd);
	struct pollfd p = { .fd = lfd, .events = POLLIN };

	peer_start(s, 300, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	CHECK_EQ(poll(&p, 1, PATIENCE_MS), 1);
	CHECK_EQ(p.revents, POLLIN);
	CHECK_OK(peer_wait(s));
}

static void wakes_for_connect(struct side *s)
{
	int fd = sock_connecting(s);
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	peer_start(s, 300, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	CHECK_EQ(poll(&p, 1, PATIENCE_MS), 1);
	CHECK_EQ(p.revents, POLLOUT);
	CHECK_OK(peer_wait(s));
	CHECK_EQ(sock_error(fd), 0);
}

static int select_one(int fd, bool *in, bool *out, bool *ex, int ms)
{
	struct timeval t = { ms / 1000, ms % 1000 * 1000 };
	fd_set r, w, e;
	int n;

	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_ZERO(&e);
	if (*in)
		FD_SET(fd, &r);
	if (*out)
		FD_SET(fd, &w);
	if (*ex)
		FD_SET(fd, &e);
	n = CHECK_OK(select(fd + 1, &r, &w, &e, &t));
	*in = FD_ISSET(fd, &r);
	*out = FD_ISSET(fd, &w);
	*ex = FD_ISSET(fd, &e);
	return n;
}

static void select_states(struct side *s)
{
	bool in = true, out = true, ex = true;
	int fd = pair(s);

	CHECK_EQ(select_one(fd, &in, &out, &ex, 0), 1);
	CHECK(!in && out && !ex);
	in = ex = true;
	out = false;
	CHECK_EQ(select_one(fd, &in, &out, &ex, 50), 0);
	in = true;
	peer_start(s, 200, AGENT_SEND, H_CONN, 0, 10);
	CHECK_EQ(select_one(fd, &in, &out, &ex, PATIENCE_MS), 1);
	CHECK(in && !out && !ex);
	CHECK_EQ(peer_wait(s), 10);
	recv_theirs(fd, 0, 10);
	PEER_OK(s, AGENT_RESET, H_CONN, 0, 0);
	CHECK_EQ(select_one(fd, &in, &out, &ex, PATIENCE_MS), 1);
	in = out = ex = true;
	CHECK_EQ(select_one(fd, &in, &out, &ex, 0), 2);
	CHECK(in && out && !ex);
}

const struct test_case poll_cases[] = {
	{ "poll.unconnected", unconnected, 0 },
	{ "poll.listening", listening, 0 },
	{ "poll.connected", connected, BOTH_ENDS },
	{ "poll.peer_half_closed", peer_half_closed, BOTH_ENDS },
	{ "poll.half_closed", half_closed, BOTH_ENDS },
	{ "poll.read_side_shut", read_side_shut, BOTH_ENDS },
	{ "poll.peer_closed", peer_closed, BOTH_ENDS },
	{ "poll.peer_reset", peer_reset, BOTH_ENDS },
	{ "poll.bad_descriptor", bad_descriptor, 0 },
	{ "poll.wakes_for_data", wakes_for_data, BOTH_ENDS },
	{ "poll.wakes_for_end", wakes_for_end, BOTH_ENDS },
	{ "poll.wakes_for_reset", wakes_for_reset, BOTH_ENDS },
	{ "poll.wakes_for_client", wakes_for_client, 0 },
	{ "poll.wakes_for_connect", wakes_for_connect, 0 },
	{ "select.states", select_states, BOTH_ENDS },
	{ 0 },
};
