// SPDX-License-Identifier: MIT
/*
 * close: what still arrives, what is reset, and what the other side learns.
 */
#include "harness.h"

static void expect_peer_error(struct side *s, enum agent_op op, int want)
{
	if (peer(s, op, H_CONN, 0, 1) != -1 || errno != want)
		case_fail(__FILE__, __LINE__, "expected the peer to see %s",
			  strerrorname_np(want));
}

static void set_linger(int fd, int seconds)
{
	struct linger l = { .l_onoff = 1, .l_linger = seconds };

	CHECK_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
}

static void idle(struct side *s)
{
	int fd = pair(s);

	CHECK_EQ(close(fd), 0);
	PEER_EQ(s, 0, AGENT_RECV_RAW, H_CONN, 0, 0);
}

/* Bytes that were sent before close arrive, though nobody read them yet. */
static void in_flight(struct side *s)
{
	uint64_t sent;
	int fd = pair(s);
	char buf[4096];
	ssize_t n = 1;

	sock_set(fd, SOL_SOCKET, SO_SNDBUF, 1 << 20);
	for (sent = 0; sent < 1 << 20 && n > 0; sent += n > 0 ? n : 0) {
		fill_ours(sent, buf, sizeof(buf));
		n = send(fd, buf, sizeof(buf), MSG_DONTWAIT);
	}
	CHECK_EQ(close(fd), 0);
	sleep_ms(200);
	PEER_EQ(s, sent, AGENT_SINK, H_CONN, 0, 0);
}

static void peer_in_flight(struct side *s)
{
	int fd = pair(s);
	char byte;

	PEER_EQ(s, 30000, AGENT_SEND, H_CONN, 0, 30000);
	PEER_OK(s, AGENT_CLOSE, H_CONN, 0, 0);
	recv_theirs(fd, 0, 30000);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
}

static void unread(struct side *s)
{
	int fd = pair(s);

	PEER_EQ(s, 100, AGENT_SEND, H_CONN, 0, 100);
	wait_readable(fd, 100);
	CHECK_EQ(close(fd), 0);
	expect_peer_error(s, AGENT_RECV_RAW, ECONNRESET);
}

static void peer_unread(struct side *s)
{
	int fd = pair(s);
	char byte;

	send_ours(fd, 0, 100);
	PEER_EQ(s, 100, AGENT_WAIT_QUEUED, H_CONN, 100, 0);
	PEER_OK(s, AGENT_CLOSE, H_CONN, 0, 0);
	CHECK_ERR(recv(fd, &byte, 1, 0), ECONNRESET);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
	CHECK_ERR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
}

static void linger_zero(struct side *s)
{
	int fd = pair(s);

	set_linger(fd, 0);
	CHECK_EQ(close(fd), 0);
	expect_peer_error(s, AGENT_RECV_RAW, ECONNRESET);
}

static void peer_reset_send(struct side *s)
{
	int fd = pair(s);
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	PEER_OK(s, AGENT_RESET, H_CONN, 0, 0);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	CHECK_ERR(send(fd, "x", 1, MSG_NOSIGNAL), ECONNRESET);
	CHECK_ERR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_EQ(sock_error(fd), 0);
	CHECK_ERR(getpeername(fd, (struct sockaddr *)&ss, &len), ENOTCONN);
	CHECK_ERR(shutdown(fd, SHUT_WR), ENOTCONN);
}

static void peer_reset_recv(struct side *s)
{
	int fd = pair(s);
	char byte;

	peer_start(s, 200, AGENT_RESET, H_CONN, 0, 0);
	CHECK_ERR(recv(fd, &byte, 1, 0), ECONNRESET);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
	CHECK_EQ(peer_wait(s), 0);
}

/* A reset while our send is blocked ends it. */
static void peer_reset_blocked_send(struct side *s)
{
	size_t len = 64 << 20;
	char *buf = calloc(1, len);
	int fd = pair(s);
	ssize_t n;

	peer_start(s, 300, AGENT_RESET, H_CONN, 0, 0);
	n = send(fd, buf, len, MSG_NOSIGNAL);
	if (n < 0)
		CHECK_ERR(n, ECONNRESET);
	else
		CHECK(n < (ssize_t)len);
	CHECK_EQ(peer_wait(s), 0);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP | POLLHUP |
		      (n < 0 ? 0 : POLLERR));
	free(buf);
}

/* Sending to a closed peer: the first call may pass, then EPIPE. */
static void send_to_closed(struct side *s)
{
	int fd = pair(s);

	PEER_OK(s, AGENT_CLOSE, H_CONN, 0, 0);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP);
	CHECK_EQ(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	CHECK_EQ(sock_error(fd), EPIPE);
	CHECK_ERR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
}

static void linger_delivered(struct side *s)
{
	int fd = pair(s);

	set_linger(fd, 60);
	send_ours(fd, 0, 50000);
	peer_start(s, 0, AGENT_SINK, H_CONN, 0, 0);
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(peer_wait(s), 50000);
}

/* A lingering close gives up after its time; it does not hang. */
static void linger_times_out(struct side *s)
{
	int64_t start;
	int fd = pair(s);

	send_until_full(fd, 0);
	set_linger(fd, 1);
	start = now_ms();
	CHECK_EQ(close(fd), 0);
	CHECK(now_ms() - start >= 900);
	CHECK(now_ms() - start < PATIENCE_MS);
}

static void linger_nonblocking(struct side *s)
{
	int64_t start = now_ms();
	int fd = pair(s);

	sock_nonblock(fd, true);
	set_linger(fd, 300);
	send_ours(fd, 0, 1000);
	CHECK_EQ(close(fd), 0);
	CHECK(now_ms() - start < 250000);
	PEER_EQ(s, 1000, AGENT_SINK, H_CONN, 0, 0);
}

static void listener_keeps_accepted(struct side *s)
{
	int lfd = sock_listen(s, 4), fd;
	struct addr name = addr_local(lfd);

	PEER_OK(s, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	fd = CHECK_OK(accept(lfd, NULL, NULL));
	CHECK_EQ(close(lfd), 0);
	send_ours(fd, 0, 100);
	PEER_EQ(s, 100, AGENT_RECV, H_CONN, 0, 100);
	if (peer(s, AGENT_CONNECT, H_CONN + 1, addr_get_port(&name), 0) != -1 ||
	    errno != ECONNREFUSED)
		case_fail(__FILE__, __LINE__, "expected ECONNREFUSED");
}

const struct test_case close_cases[] = {
	{ "close.idle", idle, BOTH_ENDS },
	{ "close.in_flight", in_flight, BOTH_ENDS },
	{ "close.peer_in_flight", peer_in_flight, BOTH_ENDS },
	{ "close.unread", unread, BOTH_ENDS },
	{ "close.peer_unread", peer_unread, BOTH_ENDS },
	{ "close.linger_zero", linger_zero, BOTH_ENDS },
	{ "close.peer_reset_send", peer_reset_send, BOTH_ENDS },
	{ "close.peer_reset_recv", peer_reset_recv, BOTH_ENDS },
	{ "close.peer_reset_blocked_send", peer_reset_blocked_send, BOTH_ENDS },
	{ "close.send_to_closed", send_to_closed, BOTH_ENDS },
	{ "close.linger_delivered", linger_delivered, BOTH_ENDS },
	{ "close.linger_times_out", linger_times_out, BOTH_ENDS },
	{ "close.linger_nonblocking", linger_nonblocking, BOTH_ENDS },
	{ "close.listener_keeps_accepted", listener_keeps_accepted, 0 },
	{ 0 },
};
