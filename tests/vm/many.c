// SPDX-License-Identifier: MIT
/*
 * Many connections: idle ones that still work, and a fast sequence of short
 * ones.  --conns and --loops.
 */
#include <sys/resource.h>

#include "harness.h"

static void echo(int fd, uint64_t pos, size_t len)
{
	char buf[512], back[512];

	fill_ours(pos, buf, len);
	CHECK_EQ(send(fd, buf, len, MSG_NOSIGNAL), len);
	CHECK_EQ(recv(fd, back, len, MSG_WAITALL), len);
	CHECK(!memcmp(buf, back, len));
}

static int connect_to(struct side *s, int port)
{
	struct addr to = addr_port(&s->remote, port);
	int fd = sock_new(s, 0);

	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	return fd;
}

static void idle(struct side *s)
{
	int port = PEER_OK(s, AGENT_LISTEN, H_LISTEN, 1024, 0);
	int *fds = calloc(s->conns, sizeof(int));
	uint64_t rng = s->seed;
	struct rlimit files;

	CHECK_OK(getrlimit(RLIMIT_NOFILE, &files));
	if (files.rlim_cur < (rlim_t)s->conns + 64)
		case_skip("only %llu descriptors are allowed",
			  (unsigned long long)files.rlim_cur);
	peer_start(s, 0, AGENT_SERVE, H_LISTEN, s->conns, 0);
	for (int i = 0; i < s->conns; i++)
		fds[i] = connect_to(s, port);
	for (int i = 0; i < 500; i++)
		echo(fds[rng_next(&rng) % s->conns], i, 1 + i % 400);
	for (int i = 0; i < s->conns; i++)
		EVENTS_ARE(fds[i], POLLOUT);
	for (int i = 0; i < s->conns; i++)
		echo(fds[i], i, 8);
	for (int i = 0; i < s->conns; i++)
		CHECK_OK(close(fds[i]));
	CHECK_EQ(peer_wait(s), s->conns);
	free(fds);
}

static void churn(struct side *s)
{
	int port = PEER_OK(s, AGENT_LISTEN, H_LISTEN, 128, 0);

	peer_start(s, 0, AGENT_SERVE, H_LISTEN, s->loops, 0);
	for (int i = 0; i < s->loops; i++) {
		int fd = connect_to(s, port);

		echo(fd, i, 1 + i % 300);
		CHECK_OK(close(fd));
	}
	CHECK_EQ(peer_wait(s), s->loops);
}

/* Connections that carry nothing at all are counted right too. */
static void churn_silent(struct side *s)
{
	int port = PEER_OK(s, AGENT_LISTEN, H_LISTEN, 128, 0);

	peer_start(s, 0, AGENT_SERVE, H_LISTEN, s->loops, 0);
	for (int i = 0; i < s->loops; i++)
		CHECK_OK(close(connect_to(s, port)));
	CHECK_EQ(peer_wait(s), s->loops);
}

const struct test_case many_cases[] = {
	{ "many.idle", idle, 0 },
	{ "many.churn", churn, 0 },
	{ "many.churn_silent", churn_silent, 0 },
	{ 0 },
};
