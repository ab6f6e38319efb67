// SPDX-License-Identifier: MIT
/*
 * shutdown: each side alone, both, half-closed connections that live on, and
 * what is woken.
 */
#include "harness.h"

static void write_side(struct side *s)
{
	int fd = pair(s);
	char byte;

	send_ours(fd, 0, 1000);
	CHECK_EQ(shutdown(fd, SHUT_WR), 0);
	CHECK_ERR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	PEER_EQ(s, 1000, AGENT_SINK, H_CONN, 0, 0);
	PEER_EQ(s, 50000, AGENT_SEND, H_CONN, 0, 50000);
	recv_theirs(fd, 0, 50000);
	CHECK_EQ(shutdown(fd, SHUT_WR), 0);
	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
}

static void peer_write_side(struct side *s)
{
	int fd = pair(s);
	char byte;

	PEER_EQ(s, 1000, AGENT_SEND, H_CONN, 0, 1000);
	PEER_EQ(s, 0, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	recv_theirs(fd, 0, 1000);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
	CHECK_EQ(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
	peer_start(s, 0, AGENT_SINK, H_CONN, 0, 0);
	CHECK_EQ(stream_send(fd, SEED_CASE, 0, 500000), 500000);
	CHECK_EQ(shutdown(fd, SHUT_WR), 0);
	CHECK_EQ(peer_wait(s), 500000);
}

static void read_side(struct side *s)
{
	int fd = pair(s);
	char byte;

	CHECK_EQ(shutdown(fd, SHUT_RD), 0);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
	send_ours(fd, 0, 1000);
	PEER_EQ(s, 1000, AGENT_RECV, H_CONN, 0, 1000);
	CHECK_EQ(shutdown(fd, SHUT_WR), 0);
	PEER_EQ(s, 0, AGENT_RECV_RAW, H_CONN, 0, 0);
}

/* What was there before SHUT_RD can still be read. */
static void read_side_queued(struct side *s)
{
	int fd = pair(s);
	char byte;

	PEER_EQ(s, 100, AGENT_SEND, H_CONN, 0, 100);
	wait_readable(fd, 100);
	CHECK_EQ(shutdown(fd, SHUT_RD), 0);
	recv_theirs(fd, 0, 100);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
}

static void both_sides(struct side *s)
{
	int fd = pair(s);
	char byte;

	send_ours(fd, 0, 1000);
	CHECK_EQ(shutdown(fd, SHUT_RDWR), 0);
	CHECK_ERR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
	PEER_EQ(s, 1000, AGENT_SINK, H_CONN, 0, 0);
}

/* The same bytes and ends whichever side shuts first, or both at once. */
static void crossing(struct side *s)
{
	for (int round = 0; round < 20; round++) {
		int fd = pair(s);

		peer_start(s, 0, AGENT_DUPLEX, H_CONN, 3000, 5000);
		CHECK_EQ(stream_duplex(fd, SEED_CASE, 5000, 3000), 3000);
		CHECK_EQ(peer_wait(s), 5000);
		CHECK_OK(close(fd));
		PEER_OK(s, AGENT_CLOSE, H_CONN, 0, 0);
	}
}

static void wrong_arguments(struct side *s)
{
	int fd = pair(s);

	CHECK_ERR(shutdown(fd, 3), EINVAL);
	CHECK_ERR(shutdown(fd, -1), EINVAL);
	send_ours(fd, 0, 10);
	PEER_EQ(s, 10, AGENT_RECV, H_CONN, 0, 10);
}

struct shut {
	int fd;
	int how;
};

static void *shut_later(void *arg)
{
	struct shut *shut = arg;

	sleep_ms(300);
	CHECK_OK(shutdown(shut->fd, shut->how));
	return NULL;
}

static void wakes_recv(struct side *s)
{
	static const int hows[] = { SHUT_RD, SHUT_RDWR };

	for (int i = 0; i < 2; i++) {
		struct shut shut = { pair_at(s, H_CONN + i), hows[i] };
		pthread_t thread;
		char byte;

		CHECK_EQ(pthread_create(&thread, NULL, shut_later, &shut), 0);
		CHECK_EQ(recv(shut.fd, &byte, 1, 0), 0);
		pthread_join(thread, NULL);
	}
}

static void wakes_poll(struct side *s)
{
	struct shut shut = { pair(s), SHUT_RDWR };
	struct pollfd p = { .fd = shut.fd, .events = POLLIN };
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, shut_later, &shut), 0);
	CHECK_EQ(poll(&p, 1, PATIENCE_MS), 1);
	CHECK_EQ(p.revents, POLLIN | POLLHUP);
	pthread_join(thread, NULL);
}

static void wakes_send(struct side *s)
{
	struct shut shut = { pair(s), SHUT_WR };
	size_t len = 64 << 20;
	char *buf = calloc(1, len);
	pthread_t thread;
	ssize_t n;

	CHECK_EQ(pthread_create(&thread, NULL, shut_later, &shut), 0);
	n = send(shut.fd, buf, len, MSG_NOSIGNAL);
	pthread_join(thread, NULL);
	if (n < 0)
		CHECK_ERR(n, EPIPE);
	else
		CHECK(n < (ssize_t)len);
	CHECK_ERR(send(shut.fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	free(buf);
}

const struct test_case shutdown_cases[] = {
	{ "shutdown.write_side", write_side, BOTH_ENDS },
	{ "shutdown.peer_write_side", peer_write_side, BOTH_ENDS },
	{ "shutdown.read_side", read_side, BOTH_ENDS },
	{ "shutdown.read_side_queued", read_side_queued, BOTH_ENDS },
	{ "shutdown.both_sides", both_sides, BOTH_ENDS },
	{ "shutdown.crossing", crossing, BOTH_ENDS },
	{ "shutdown.wrong_arguments", wrong_arguments, BOTH_ENDS },
	{ "shutdown.wakes_recv", wakes_recv, BOTH_ENDS },
	{ "shutdown.wakes_poll", wakes_poll, BOTH_ENDS },
	{ "shutdown.wakes_send", wakes_send, BOTH_ENDS },
	{ 0 },
};
