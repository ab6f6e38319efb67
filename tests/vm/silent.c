// SPDX-License-Identifier: MIT
/*
 * Cases for a network that the lab breaks meanwhile; run only when named.
 * Each prints nothing and waits: `ready` files tell the lab where it is.
 * The control connection is not used after the marker.
 */
#include "harness.h"

/* Tell the lab (through the file named by SOCKTEST_READY) to go on. */
static void mark_ready(void)
{
	const char *path = getenv("SOCKTEST_READY");
	int fd;

	if (!path)
		case_skip("needs SOCKTEST_READY, a file to make when ready");
	fd = CHECK_OK(open(path, O_CREAT | O_WRONLY, 0644));
	CHECK_OK(close(fd));
}

/* Wait until the lab has made the file named by SOCKTEST_GO. */
static void await_go(void)
{
	const char *path = getenv("SOCKTEST_GO");

	if (!path)
		case_skip("needs SOCKTEST_GO, a file to wait for");
	while (access(path, F_OK) < 0)
		sleep_ms(50);
}

/* An unanswered send ends after TCP_USER_TIMEOUT with ETIMEDOUT. */
static void user_timeout(struct side *s)
{
	int fd = pair(s);
	char byte;

	sock_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 3000);
	mark_ready();
	await_go();
	CHECK_EQ(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	CHECK_ERR(recv(fd, &byte, 1, 0), ETIMEDOUT);
	CHECK_EQ(recv(fd, &byte, 1, 0), 0);
	CHECK_ERR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
}

/* An idle connection to a silent host ends by its keepalive. */
static void keepalive(struct side *s)
{
	int fd = pair(s);
	char byte;

	sock_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 2);
	sock_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	sock_set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	sock_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	mark_ready();
	await_go();
	CHECK_ERR(recv(fd, &byte, 1, 0), ETIMEDOUT);
}

/* Keepalive leaves a connection to a living host alone. */
static void living_host(struct side *s)
{
	int fd = pair(s);

	sock_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	sock_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	sock_set(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
	sock_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	sleep_ms(8000);
	EVENTS_ARE(fd, POLLOUT);
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	recv_theirs(fd, 0, 10);
}

/* The other host's kernel forgot us: our connection is reset at once. */
static void peer_forgets(struct side *s)
{
	int fd = pair(s);
	char byte;

	mark_ready();
	await_go();
	/* krcore has reset it by now; TCP learns it from the answer. */
	if (send(fd, "x", 1, MSG_NOSIGNAL) == 1)
		CHECK_ERR(recv(fd, &byte, 1, 0), ECONNRESET);
	else
		CHECK_EQ(errno, ECONNRESET);
}

/* Bytes flow again after the link comes back; none is lost. */
static void link_returns(struct side *s)
{
	int fd = pair(s);

	send_ours(fd, 0, 1000);
	PEER_EQ(s, 1000, AGENT_RECV, H_CONN, 0, 1000);
	mark_ready();
	peer_start(s, 0, AGENT_DUPLEX, H_CONN, s->bytes, s->bytes);
	await_go();
	CHECK_EQ(stream_duplex(fd, SEED_CASE, s->bytes, s->bytes), s->bytes);
	CHECK_EQ(peer_wait(s), s->bytes);
}

/* An open connection that holds on until the lab says go. */
static void hold(struct side *s)
{
	int fd = pair(s);

	mark_ready();
	await_go();
	send_ours(fd, 0, 1000);
	PEER_EQ(s, 1000, AGENT_RECV, H_CONN, 0, 1000);
}

const struct test_case silent_cases[] = {
	{ "silent.user_timeout", user_timeout, EXPLICIT },
	{ "silent.keepalive", keepalive, EXPLICIT },
	{ "silent.living_host", living_host, BOTH_ENDS },
	{ "silent.peer_forgets", peer_forgets, EXPLICIT },
	{ "silent.link_returns", link_returns, EXPLICIT },
	{ "silent.hold", hold, EXPLICIT },
	{ 0 },
};
