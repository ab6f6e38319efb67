// SPDX-License-Identifier: MIT
/*
 * ioctl, fcntl and fstat: queue lengths, non-blocking and signal-driven I/O.
 */
#include <linux/sockios.h>
#include <sys/stat.h>

#include "harness.h"

static int ask(int fd, unsigned long request)
{
	int value = -1;

	CHECK_OK(ioctl(fd, request, &value));
	return value;
}

static void receive_queue(struct side *s)
{
	int fd = pair(s);

	CHECK_EQ(ask(fd, FIONREAD), 0);
	PEER_EQ(s, 5000, AGENT_SEND, H_CONN, 0, 5000);
	wait_readable(fd, 5000);
	CHECK_EQ(ask(fd, SIOCINQ), 5000);
	recv_theirs(fd, 0, 4999);
	CHECK_EQ(ask(fd, FIONREAD), 1);
	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP);
	CHECK_EQ(ask(fd, FIONREAD), 1);
	recv_theirs(fd, 4999, 1);
	CHECK_EQ(ask(fd, FIONREAD), 0);
}

/* Zero when the peer has everything, though it has not read it. */
static void send_queue(struct side *s)
{
	int64_t until = now_ms() + PATIENCE_MS;
	int fd = pair(s);

	CHECK_EQ(ask(fd, SIOCOUTQ), 0);
	send_ours(fd, 0, 5000);
	PEER_EQ(s, 5000, AGENT_WAIT_QUEUED, H_CONN, 5000, 0);
	while (ask(fd, SIOCOUTQ) && now_ms() < until)
		sleep_ms(2);
	CHECK_EQ(ask(fd, SIOCOUTQ), 0);
	CHECK_EQ(ask(fd, SIOCOUTQNSD), 0);
	send_until_full(fd, 5000);
	CHECK(ask(fd, SIOCOUTQ) > 0);
}

static void other_states(struct side *s)
{
	int fd = sock_new(s, 0), lfd = sock_listen(s, 4), value;

	CHECK_EQ(ask(fd, FIONREAD), 0);
	CHECK_EQ(ask(fd, SIOCOUTQ), 0);
	CHECK_ERR(ioctl(lfd, FIONREAD, &value), EINVAL);
	CHECK_ERR(ioctl(lfd, SIOCOUTQ, &value), EINVAL);
	CHECK_ERR(ioctl(fd, 0x4b52ff, &value), ENOTTY);
	CHECK_ERR(ioctl(fd, FIONREAD, NULL), EFAULT);
}

static void nonblocking(struct side *s)
{
	int fd = pair(s), on = 1;
	char byte;

	CHECK_OK(ioctl(fd, FIONBIO, &on));
	CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	CHECK_ERR(recv(fd, &byte, 1, 0), EAGAIN);
	on = 0;
	CHECK_OK(ioctl(fd, FIONBIO, &on));
	CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
}

static void is_socket(struct side *s)
{
	int fd = pair(s);
	struct stat st;

	CHECK_OK(fstat(fd, &st));
	CHECK(S_ISSOCK(st.st_mode));
	CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	CHECK_EQ(isatty(fd), 0);
	CHECK_EQ(errno, ENOTTY);
}

static volatile sig_atomic_t signalled;

static void on_signal(int sig)
{
	signalled++;
}

static void await_signal(int more_than)
{
	int64_t until = now_ms() + PATIENCE_MS;

	while (signalled <= more_than && now_ms() < until)
		sleep_ms(2);
	CHECK(signalled > more_than);
}

static void signal_driven(struct side *s)
{
	int fd = pair(s), before;

	signal(SIGIO, on_signal);
	CHECK_OK(fcntl(fd, F_SETOWN, getpid()));
	CHECK_EQ(fcntl(fd, F_GETOWN), getpid());
	CHECK_OK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	await_signal(0);
	recv_theirs(fd, 0, 10);
	before = signalled;
	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	await_signal(before);
}

static void signal_driven_listener(struct side *s)
{
	int lfd = sock_listen(s, 4), on = 1;
	struct addr name = addr_local(lfd);

	signal(SIGUSR1, on_signal);
	CHECK_OK(fcntl(lfd, F_SETOWN, getpid()));
	CHECK_OK(fcntl(lfd, F_SETSIG, SIGUSR1));
	CHECK_OK(ioctl(lfd, FIOASYNC, &on));
	PEER_OK(s, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	await_signal(0);
	CHECK_OK(accept(lfd, NULL, NULL));
}

const struct test_case ioctl_cases[] = {
	{ "ioctl.receive_queue", receive_queue, BOTH_ENDS },
	{ "ioctl.send_queue", send_queue, BOTH_ENDS },
	{ "ioctl.other_states", other_states, 0 },
	{ "ioctl.nonblocking", nonblocking, BOTH_ENDS },
	{ "ioctl.is_socket", is_socket, BOTH_ENDS },
	{ "ioctl.signal_driven", signal_driven, BOTH_ENDS },
	{ "ioctl.signal_driven_listener", signal_driven_listener, 0 },
	{ 0 },
};
