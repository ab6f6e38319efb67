// SPDX-License-Identifier: MIT
/*
 * epoll in all its modes: level, edge, one shot, exclusive, nested, added
 * before connect, and the events that are reported unasked.
 */
#include "harness.h"

static int epoll_with(int fd, uint32_t events)
{
	int ep = CHECK_OK(epoll_create1(EPOLL_CLOEXEC));
	struct epoll_event ev = { .events = events, .data.fd = fd };

	CHECK_OK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	return ep;
}

static void rearm(int ep, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };

	CHECK_OK(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev));
}

/* The events of the one ready descriptor; 0 when none becomes ready. */
static uint32_t next_event(int ep, int ms)
{
	struct epoll_event ev;

	return CHECK_OK(epoll_wait(ep, &ev, 1, ms)) ? ev.events : 0;
}

/* Long enough for a wrong event to show itself; never needed for a right one. */
enum { QUIET_MS = 100 };

static void level(struct side *s)
{
	int fd = pair(s), ep = epoll_with(fd, EPOLLIN);

	CHECK_EQ(next_event(ep, QUIET_MS), 0);
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLIN);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLIN);
	recv_theirs(fd, 0, 10);
	CHECK_EQ(next_event(ep, QUIET_MS), 0);
	rearm(ep, fd, EPOLLIN | EPOLLOUT);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLOUT);
}

static void edge_in(struct side *s)
{
	int fd = pair(s), ep = epoll_with(fd, EPOLLIN | EPOLLET);

	CHECK_EQ(next_event(ep, QUIET_MS), 0);
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLIN);
	CHECK_EQ(next_event(ep, QUIET_MS), 0);
	recv_theirs(fd, 0, 5);
	CHECK_EQ(next_event(ep, QUIET_MS), 0);
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 10, 10);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLIN);
	CHECK_EQ(next_event(ep, QUIET_MS), 0);
	rearm(ep, fd, EPOLLIN | EPOLLET);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLIN);
	recv_theirs(fd, 5, 15);
	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLIN);
}

static uint64_t send_till_full(int fd, uint64_t pos)
{
	char buf[4096];
	ssize_t n;

	for (;; pos += n) {
		fill_ours(pos, buf, sizeof(buf));
		n = send(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n < 0)
			break;
	}
	CHECK_ERR(n, EAGAIN);
	return pos;
}

/* After EAGAIN there is an edge when there is room again. */
static void edge_out(struct side *s)
{
	int fd = pair(s), ep;
	uint64_t pos = 0, read = 0;

	sock_set(fd, SOL_SOCKET, SO_SNDBUF, 32768);
	PEER_OK(s, AGENT_SETOPT, H_CONN, SOL_SOCKET << 16 | SO_RCVBUF, 32768);
	ep = epoll_with(fd, EPOLLOUT | EPOLLET);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLOUT);
	CHECK_EQ(next_event(ep, QUIET_MS), 0);
	for (int round = 0; round < 10; round++) {
		pos = send_till_full(fd, pos);
		peer_start(s, 0, AGENT_RECV, H_CONN, read, pos - read);
		CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLOUT);
		CHECK_EQ(peer_wait(s), pos - read);
		read = pos;
	}
}

static void one_shot(struct side *s)
{
	int fd = pair(s), ep = epoll_with(fd, EPOLLIN | EPOLLONESHOT);

	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLIN);
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 10, 10);
	wait_readable(fd, 20);
	CHECK_EQ(next_event(ep, QUIET_MS), 0);
	rearm(ep, fd, EPOLLIN | EPOLLONESHOT);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLIN);
	CHECK_EQ(next_event(ep, QUIET_MS), 0);
}

static void rdhup(struct side *s)
{
	int fd = pair(s), ep = epoll_with(fd, EPOLLRDHUP);

	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	wait_readable(fd, 10);
	CHECK_EQ(next_event(ep, QUIET_MS), 0);
	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLRDHUP);
	CHECK_OK(shutdown(fd, SHUT_WR));
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLRDHUP | EPOLLHUP);
}

static void unasked(struct side *s)
{
	int fd = pair(s), ep = epoll_with(fd, 0);

	CHECK_EQ(next_event(ep, QUIET_MS), 0);
	peer_start(s, 200, AGENT_RESET, H_CONN, 0, 0);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLERR | EPOLLHUP);
	CHECK_EQ(peer_wait(s), 0);
}

/* An idle socket added before connect reports its connection. */
static void before_connect(struct side *s)
{
	struct addr to = addr_port(&s->remote, PEER_OK(s, AGENT_LISTEN,
						       H_LISTEN, 4, 0));
	int fd = sock_new(s, SOCK_NONBLOCK);
	int ep = epoll_with(fd, EPOLLIN | EPOLLOUT | EPOLLET);

	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLOUT | EPOLLHUP);
	CHECK_ERR(connect(fd, &to.sa, to.len), EINPROGRESS);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLOUT);
	CHECK_EQ(sock_error(fd), 0);
	PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLIN | EPOLLOUT);
	recv_theirs(fd, 0, 10);
}

static void before_refused(struct side *s)
{
	struct addr to = addr_port(&s->remote, PEER_OK(s, AGENT_LISTEN,
						       H_LISTEN, 4, 0));
	int fd = sock_new(s, SOCK_NONBLOCK);
	int ep = epoll_with(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);

	PEER_OK(s, AGENT_CLOSE, H_LISTEN, 0, 0);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLOUT | EPOLLHUP);
	CHECK_ERR(connect(fd, &to.sa, to.len), EINPROGRESS);
	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLIN | EPOLLOUT | EPOLLRDHUP |
		 EPOLLERR | EPOLLHUP);
	CHECK_EQ(sock_error(fd), ECONNREFUSED);
}

/* A listener added before listen reports its clients. */
static void before_listen(struct side *s)
{
	int lfd = sock_bound(s, 0), ep = epoll_with(lfd, EPOLLIN | EPOLLET);
	struct addr name = addr_local(lfd);

	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLHUP);
	CHECK_OK(listen(lfd, 8));
	sock_nonblock(lfd, true);
	for (int i = 0; i < 3; i++) {
		peer_start(s, 100, AGENT_CONNECT, H_CONN + i,
			   addr_get_port(&name), 0);
		CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLIN);
		CHECK_OK(peer_wait(s));
		CHECK_OK(accept(lfd, NULL, NULL));
		CHECK_ERR(accept(lfd, NULL, NULL), EAGAIN);
	}
}

static void nested(struct side *s)
{
	int fd = pair(s), inner = epoll_with(fd, EPOLLIN);
	int outer = epoll_with(inner, EPOLLIN);
	struct pollfd p = { .fd = outer, .events = POLLIN };

	CHECK_EQ(next_event(outer, QUIET_MS), 0);
	peer_start(s, 200, AGENT_SEND, H_CONN, 0, 10);
	CHECK_EQ(poll(&p, 1, PATIENCE_MS), 1);
	CHECK_EQ(next_event(outer, PATIENCE_MS), EPOLLIN);
	CHECK_EQ(next_event(inner, PATIENCE_MS), EPOLLIN);
	CHECK_EQ(peer_wait(s), 10);
	recv_theirs(fd, 0, 10);
	CHECK_EQ(next_event(outer, QUIET_MS), 0);
}

static void control_errors(struct side *s)
{
	int fd = pair(s), ep = epoll_with(fd, EPOLLIN);
	struct epoll_event ev = { .events = EPOLLIN };

	CHECK_ERR(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), EEXIST);
	CHECK_OK(epoll_ctl(ep, EPOLL_CTL_DEL, fd, &ev));
	CHECK_ERR(epoll_ctl(ep, EPOLL_CTL_DEL, fd, &ev), ENOENT);
	CHECK_ERR(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev), ENOENT);
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	wait_readable(fd, 10);
	CHECK_EQ(next_event(ep, 0), 0);
}

/* Closing the last descriptor takes a socket out of its epoll set. */
static void close_removes(struct side *s)
{
	int fd = pair(s), ep = epoll_with(fd, EPOLLOUT);

	CHECK_EQ(next_event(ep, PATIENCE_MS), EPOLLOUT);
	CHECK_OK(close(fd));
	CHECK_EQ(next_event(ep, 0), 0);
	PEER_EQ(s, 0, AGENT_RECV_RAW, H_CONN, 0, 0);
}

struct waiter {
	pthread_t thread;
	int lfd;
	int accepted;
};

/* Accepts until the listener is shut down. */
static void *wait_exclusive(void *arg)
{
	struct waiter *w = arg;
	int ep = epoll_with(w->lfd, EPOLLIN | EPOLLEXCLUSIVE);

	while (next_event(ep, PATIENCE_MS) == EPOLLIN) {
		if (accept(w->lfd, NULL, NULL) >= 0)
			w->accepted++;
		else
			CHECK_EQ(errno, EAGAIN);
	}
	return NULL;
}

/* However few are woken, no client stays unanswered. */
static void exclusive(struct side *s)
{
	int lfd = sock_listen(s, 64), sum = 0;
	struct addr name = addr_local(lfd);
	struct waiter w[4];

	sock_nonblock(lfd, true);
	for (int i = 0; i < 4; i++) {
		w[i] = (struct waiter){ .lfd = lfd };
		CHECK_EQ(pthread_create(&w[i].thread, NULL, wait_exclusive,
					&w[i]), 0);
	}
	for (int i = 0; i < 20; i++)
		PEER_OK(s, AGENT_CONNECT, H_CONN + i, addr_get_port(&name), 0);
	for (int64_t end = now_ms() + PATIENCE_MS; now_ms() < end;) {
		sum = 0;
		for (int i = 0; i < 4; i++)
			sum += __atomic_load_n(&w[i].accepted, __ATOMIC_RELAXED);
		if (sum == 20)
			break;
		sleep_ms(5);
	}
	CHECK_EQ(sum, 20);
	CHECK_OK(shutdown(lfd, SHUT_RDWR));
	for (int i = 0; i < 4; i++)
		pthread_join(w[i].thread, NULL);
}

/* Many descriptors of two kinds in one set; exactly the right ones ready. */
static void mixed(struct side *s)
{
	struct epoll_event ev[8];
	int fds[4], pipes[2], ep = CHECK_OK(epoll_create1(0));

	CHECK_OK(pipe(pipes));
	ev[0] = (struct epoll_event){ .events = EPOLLIN, .data.fd = pipes[0] };
	CHECK_OK(epoll_ctl(ep, EPOLL_CTL_ADD, pipes[0], &ev[0]));
	for (int i = 0; i < 4; i++) {
		fds[i] = pair_at(s, H_CONN + i);
		ev[0] = (struct epoll_event){ .events = EPOLLIN,
					      .data.fd = fds[i] };
		CHECK_OK(epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &ev[0]));
	}
	CHECK_EQ(epoll_wait(ep, ev, 8, QUIET_MS), 0);
	PEER_EQ(s, 5, AGENT_SEND, H_CONN + 2, 0, 5);
	CHECK_EQ(epoll_wait(ep, ev, 8, PATIENCE_MS), 1);
	CHECK_EQ(ev[0].data.fd, fds[2]);
	CHECK_EQ(write(pipes[1], "x", 1), 1);
	CHECK_EQ(epoll_wait(ep, ev, 8, 0), 2);
	CHECK_OK(shutdown(fds[0], SHUT_RD));
	CHECK_EQ(epoll_wait(ep, ev, 8, 0), 3);
}

const struct test_case epoll_cases[] = {
	{ "epoll.level", level, BOTH_ENDS },
	{ "epoll.edge_in", edge_in, BOTH_ENDS },
	{ "epoll.edge_out", edge_out, BOTH_ENDS },
	{ "epoll.one_shot", one_shot, BOTH_ENDS },
	{ "epoll.rdhup", rdhup, BOTH_ENDS },
	{ "epoll.unasked", unasked, BOTH_ENDS },
	{ "epoll.before_connect", before_connect, 0 },
	{ "epoll.before_refused", before_refused, 0 },
	{ "epoll.before_listen", before_listen, 0 },
	{ "epoll.nested", nested, BOTH_ENDS },
	{ "epoll.control_errors", control_errors, BOTH_ENDS },
	{ "epoll.close_removes", close_removes, BOTH_ENDS },
	{ "epoll.exclusive", exclusive, 0 },
	{ "epoll.mixed", mixed, BOTH_ENDS },
	{ 0 },
};
