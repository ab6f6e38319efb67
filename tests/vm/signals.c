// SPDX-License-Identifier: MIT
/*
 * Signals: blocked calls are interrupted or restarted, SIGPIPE is raised or
 * not.
 */
#include <sys/time.h>

#include "harness.h"

static volatile sig_atomic_t alarms, pipes;

static void on_alarm(int sig)
{
	alarms++;
}

static void on_pipe(int sig)
{
	pipes++;
}

/* SIGALRM every 100 ms, with or without SA_RESTART. */
static void start_alarms(int flags)
{
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = flags };
	struct itimerval every = {
		.it_interval = { .tv_usec = 100000 },
		.it_value = { .tv_usec = 100000 },
	};

	alarms = 0;
	CHECK_OK(sigaction(SIGALRM, &act, NULL));
	CHECK_OK(setitimer(ITIMER_REAL, &every, NULL));
}

static void stop_alarms(void)
{
	struct itimerval never = { 0 };

	CHECK_OK(setitimer(ITIMER_REAL, &never, NULL));
	CHECK(alarms > 0);
}

static void recv_interrupted(struct side *s)
{
	int fd = pair(s);
	char buf[10];

	start_alarms(0);
	CHECK_ERR(recv(fd, buf, 10, 0), EINTR);
	CHECK_ERR(read(fd, buf, 10), EINTR);
	stop_alarms();
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	recv_theirs(fd, 0, 10);
}

static void recv_restarted(struct side *s)
{
	int fd = pair(s);
	char buf[10];

	start_alarms(SA_RESTART);
	peer_start(s, 1000, AGENT_SEND, H_CONN, 0, 10);
	CHECK_EQ(recv(fd, buf, 10, MSG_WAITALL), 10);
	stop_alarms();
	CHECK_EQ(peer_wait(s), 10);
	expect_theirs(0, buf, 10);
}

/* With a timeout set a call is never restarted. */
static void recv_with_timeout(struct side *s)
{
	struct timeval t = { .tv_sec = 200 };
	int fd = pair(s);
	char buf[10];

	CHECK_OK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)));
	start_alarms(SA_RESTART);
	CHECK_ERR(recv(fd, buf, 10, 0), EINTR);
	stop_alarms();
}

/* What arrived before the signal is returned, not lost. */
static void recv_partial(struct side *s)
{
	int fd = pair(s);
	char buf[10];

	PEER_EQ(s, 4, AGENT_SEND, H_CONN, 0, 4);
	wait_readable(fd, 4);
	start_alarms(0);
	CHECK_EQ(recv(fd, buf, 10, MSG_WAITALL), 4);
	stop_alarms();
	expect_theirs(0, buf, 4);
}

/* Sends until the other side has taken all it will: nothing moved for a second. */
static size_t fill_quietly(int fd, const char *buf, size_t len)
{
	int64_t quiet_since = now_ms();
	size_t pos = 0;

	while (pos < len && now_ms() - quiet_since < 1000) {
		ssize_t n = send(fd, buf + pos, len - pos, MSG_DONTWAIT);

		if (n > 0) {
			pos += n;
			quiet_since = now_ms();
		}
		usleep(10000);
	}
	return pos;
}

static void send_interrupted(struct side *s)
{
	size_t len = 64 << 20;
	char *buf = malloc(len);
	int fd = pair(s);
	ssize_t n;

	fill_ours(0, buf, len);
	start_alarms(0);
	n = CHECK_OK(send(fd, buf, len, 0));
	CHECK(n > 0 && n < (ssize_t)len);
	n += fill_quietly(fd, buf + n, len - n);
	CHECK_ERR(send(fd, buf + n, len - n, 0), EINTR);
	stop_alarms();
	PEER_EQ(s, n, AGENT_RECV, H_CONN, 0, n);
	free(buf);
}

static uint64_t fill_socket(int fd)
{
	int64_t quiet_since = now_ms();
	uint64_t pos = 0;
	char buf[1000];

	while (now_ms() - quiet_since < 1000) {
		ssize_t n;

		fill_ours(pos, buf, sizeof(buf));
		n = send(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n > 0) {
			pos += n;
			quiet_since = now_ms();
		} else {
			sleep_ms(10);
		}
	}
	return pos;
}

static void send_restarted(struct side *s)
{
	int fd = pair(s);
	uint64_t pos = fill_socket(fd);
	char byte;

	fill_ours(pos, &byte, 1);
	start_alarms(SA_RESTART);
	peer_start(s, 1000, AGENT_RECV, H_CONN, 0, pos + 1);
	CHECK_EQ(send(fd, &byte, 1, 0), 1);
	CHECK_EQ(peer_wait(s), pos + 1);
	stop_alarms();
}

static void accept_interrupted(struct side *s)
{
	int lfd = sock_listen(s, 4);
	struct addr name = addr_local(lfd);

	start_alarms(0);
	CHECK_ERR(accept(lfd, NULL, NULL), EINTR);
	stop_alarms();
	start_alarms(SA_RESTART);
	peer_start(s, 1000, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	CHECK_OK(accept(lfd, NULL, NULL));
	CHECK_OK(peer_wait(s));
	stop_alarms();
}

/* A blocking connect that hangs in a full backlog. */
static struct addr hanging_peer(struct side *s)
{
	sock_connecting(s);
	return addr_port(&s->remote, PEER_OK(s, AGENT_NAME, H_LISTEN, 0, 0));
}

/* Let everybody in who waits at the agent's listener. */
static void accept_two(struct side *s)
{
	for (int i = 0; i < 2; i++)
		PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN + i, 0);
}

/* An interrupted connect goes on; poll tells how it ended. */
static void connect_interrupted(struct side *s)
{
	struct addr to = hanging_peer(s);
	int fd = sock_new(s, 0);

	start_alarms(0);
	CHECK_ERR(connect(fd, &to.sa, to.len), EINTR);
	stop_alarms();
	EVENTS_ARE(fd, 0);
	accept_two(s);
	peer_start(s, 0, AGENT_ACCEPT, H_LISTEN, H_CONN + 2, 0);
	EVENTS_BECOME(fd, POLLOUT);
	CHECK_EQ(sock_error(fd), 0);
	CHECK_OK(peer_wait(s));
}

static void connect_restarted(struct side *s)
{
	struct addr to = hanging_peer(s);
	int fd = sock_new(s, 0);

	start_alarms(SA_RESTART);
	peer_start(s, 1000, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	peer_start(s, 0, AGENT_ACCEPT, H_LISTEN, H_CONN + 1, 0);
	peer_start(s, 0, AGENT_ACCEPT, H_LISTEN, H_CONN + 2, 0);
	CHECK_EQ(connect(fd, &to.sa, to.len), 0);
	for (int i = 0; i < 3; i++)
		CHECK_OK(peer_wait(s));
	stop_alarms();
}

static void poll_interrupted(struct side *s)
{
	struct pollfd p = { .fd = pair(s), .events = POLLIN };
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = CHECK_OK(epoll_create1(0));

	CHECK_OK(epoll_ctl(ep, EPOLL_CTL_ADD, p.fd, &ev));
	start_alarms(SA_RESTART);
	CHECK_ERR(poll(&p, 1, PATIENCE_MS), EINTR);
	CHECK_ERR(epoll_wait(ep, &ev, 1, PATIENCE_MS), EINTR);
	stop_alarms();
}

/* Ten alarms a second while bytes flow both ways: none lost or repeated. */
static void transfer_under_signals(struct side *s)
{
	int fd = pair(s);

	start_alarms(0);
	peer_start(s, 0, AGENT_DUPLEX, H_CONN, 2000000, 2000000);
	CHECK_EQ(stream_duplex(fd, SEED_CASE, 2000000, 2000000), 2000000);
	CHECK_EQ(peer_wait(s), 2000000);
	while (!alarms)
		sleep_ms(10);
	stop_alarms();
}

static void sigpipe(struct side *s)
{
	int fd = pair(s);

	signal(SIGPIPE, on_pipe);
	CHECK_OK(shutdown(fd, SHUT_WR));
	CHECK_ERR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_EQ(pipes, 0);
	CHECK_ERR(send(fd, "x", 1, 0), EPIPE);
	CHECK_EQ(pipes, 1);
	CHECK_ERR(write(fd, "x", 1), EPIPE);
	CHECK_EQ(pipes, 2);
	signal(SIGPIPE, SIG_IGN);
	CHECK_ERR(write(fd, "x", 1), EPIPE);
}

static void sigpipe_after_reset(struct side *s)
{
	int fd = pair(s);

	signal(SIGPIPE, on_pipe);
	PEER_OK(s, AGENT_RESET, H_CONN, 0, 0);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	CHECK_ERR(send(fd, "x", 1, 0), ECONNRESET);
	CHECK_EQ(pipes, 0);
	CHECK_ERR(send(fd, "x", 1, 0), EPIPE);
	CHECK_EQ(pipes, 1);
}

static void sigpipe_kills(struct side *s)
{
	int fd = pair(s), status;
	pid_t pid = CHECK_OK(fork());

	if (pid == 0) {
		shutdown(fd, SHUT_WR);
		if (write(fd, "x", 1) < 0)
			_exit(1);
		_exit(2);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGPIPE);
	PEER_EQ(s, 0, AGENT_RECV_RAW, H_CONN, 0, 0);
}

const struct test_case signals_cases[] = {
	{ "signals.recv_interrupted", recv_interrupted, BOTH_ENDS },
	{ "signals.recv_restarted", recv_restarted, BOTH_ENDS },
	{ "signals.recv_with_timeout", recv_with_timeout, BOTH_ENDS },
	{ "signals.recv_partial", recv_partial, BOTH_ENDS },
	{ "signals.send_interrupted", send_interrupted, BOTH_ENDS },
	{ "signals.send_restarted", send_restarted, BOTH_ENDS },
	{ "signals.accept", accept_interrupted, 0 },
	{ "signals.connect_interrupted", connect_interrupted, 0 },
	{ "signals.connect_restarted", connect_restarted, 0 },
	{ "signals.poll_interrupted", poll_interrupted, BOTH_ENDS },
	{ "signals.transfer", transfer_under_signals, BOTH_ENDS },
	{ "signals.sigpipe", sigpipe, BOTH_ENDS },
	{ "signals.sigpipe_after_reset", sigpipe_after_reset, BOTH_ENDS },
	{ "signals.sigpipe_kills", sigpipe_kills, BOTH_ENDS },
	{ 0 },
};
