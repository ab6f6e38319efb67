// SPDX-License-Identifier: MIT
/*
 * Sockets and processes: fork, dup, exec, and descriptors sent to others.
 */
#include "harness.h"

static void await_child(pid_t pid)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

/* Parent and child read and write the same stream in turns. */
static void fork_shares(struct side *s)
{
	int fd = pair(s);
	pid_t pid;

	PEER_EQ(s, 3000, AGENT_SEND, H_CONN, 0, 3000);
	recv_theirs(fd, 0, 1000);
	send_ours(fd, 0, 100);
	pid = CHECK_OK(fork());
	if (pid == 0) {
		recv_theirs(fd, 1000, 1000);
		send_ours(fd, 100, 100);
		_exit(0);
	}
	await_child(pid);
	recv_theirs(fd, 2000, 1000);
	send_ours(fd, 200, 100);
	PEER_EQ(s, 300, AGENT_RECV, H_CONN, 0, 300);
}

static void fork_parent_closes(struct side *s)
{
	int fd = pair(s), go[2];
	pid_t pid;

	CHECK_OK(pipe(go));
	pid = CHECK_OK(fork());
	if (pid == 0) {
		char byte;

		CHECK_EQ(read(go[0], &byte, 1), 1);
		send_ours(fd, 0, 5000);
		recv_theirs(fd, 0, 5000);
		_exit(0);
	}
	CHECK_OK(close(fd));
	CHECK_EQ(write(go[1], "x", 1), 1);
	PEER_EQ(s, 5000, AGENT_RECV, H_CONN, 0, 5000);
	PEER_EQ(s, 5000, AGENT_SEND, H_CONN, 0, 5000);
	await_child(pid);
	PEER_EQ(s, 0, AGENT_RECV_RAW, H_CONN, 0, 0);
}

static void fork_server(struct side *s)
{
	int lfd = sock_listen(s, 16);
	struct addr name = addr_local(lfd);

	for (int i = 0; i < 8; i++) {
		PEER_OK(s, AGENT_CONNECT, H_CONN + i, addr_get_port(&name), 0);
		int fd = CHECK_OK(accept(lfd, NULL, NULL));
		pid_t pid = CHECK_OK(fork());

		if (pid == 0) {
			close(lfd);
			send_ours(fd, 0, 1000);
			_exit(0);
		}
		CHECK_OK(close(fd));
		PEER_EQ(s, 1000, AGENT_SINK, H_CONN + i, 0, 0);
		await_child(pid);
	}
}

/* Workers that block in accept on one inherited listener. */
static void prefork(struct side *s)
{
	int lfd = sock_listen(s, 64);
	struct addr name = addr_local(lfd);
	pid_t pids[3];

	for (int i = 0; i < 3; i++) {
		pids[i] = CHECK_OK(fork());
		if (pids[i])
			continue;
		for (;;) {
			int fd = CHECK_OK(accept(lfd, NULL, NULL));

			send_ours(fd, 0, 100);
			CHECK_OK(close(fd));
		}
	}
	for (int i = 0; i < 20; i++) {
		PEER_OK(s, AGENT_CONNECT, H_CONN + i, addr_get_port(&name), 0);
		PEER_EQ(s, 100, AGENT_SINK, H_CONN + i, 0, 0);
	}
	for (int i = 0; i < 3; i++) {
		CHECK_OK(kill(pids[i], SIGKILL));
		CHECK_EQ(waitpid(pids[i], NULL, 0), pids[i]);
	}
	PEER_OK(s, AGENT_CONNECT, H_CONN, addr_get_port(&name), 0);
	CHECK_OK(accept(lfd, NULL, NULL));
}

/* A killed process ends its connections like close does. */
static void killed(struct side *s)
{
	int fd = pair(s), ready[2];
	char byte;
	pid_t pid;

	CHECK_OK(pipe(ready));
	pid = CHECK_OK(fork());
	if (pid == 0) {
		send_ours(fd, 0, 10000);
		CHECK_EQ(write(ready[1], "x", 1), 1);
		recv(fd, &byte, 1, 0);
		_exit(1);
	}
	CHECK_OK(close(fd));
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	PEER_EQ(s, 10000, AGENT_SINK, H_CONN, 0, 0);
}

static void dup_keeps_open(struct side *s)
{
	int fd = pair(s), copies[3];

	copies[0] = CHECK_OK(dup(fd));
	copies[1] = CHECK_OK(dup2(fd, 200));
	copies[2] = CHECK_OK(fcntl(fd, F_DUPFD_CLOEXEC, 300));
	sock_nonblock(fd, true);
	CHECK_EQ(fcntl(copies[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	sock_nonblock(fd, false);
	CHECK_OK(close(fd));
	for (int i = 0; i < 3; i++) {
		send_ours(copies[i], i * 100, 100);
		PEER_EQ(s, 100, AGENT_RECV, H_CONN, i * 100, 100);
		PEER_EQ(s, 100, AGENT_SEND, H_CONN, i * 100, 100);
		recv_theirs(copies[i], i * 100, 100);
		CHECK_OK(close(copies[i]));
	}
	PEER_EQ(s, 0, AGENT_RECV_RAW, H_CONN, 0, 0);
}

static void dup_over(struct side *s)
{
	int a = pair(s), b = pair_at(s, H_CONN + 1);

	CHECK_EQ(dup2(a, b), b);
	PEER_EQ(s, 0, AGENT_RECV_RAW, H_CONN + 1, 0, 0);
	send_ours(b, 0, 100);
	PEER_EQ(s, 100, AGENT_RECV, H_CONN, 0, 100);
}

/* `socktest exec-helper FD`: read 100 bytes, send 100, from a new image. */
int process_exec_helper(int argc, char **argv)
{
	report_fd = STDERR_FILENO;
	if (argc != 1)
		return 2;
	recv_theirs(atoi(argv[0]), 0, 100);
	send_ours(atoi(argv[0]), 0, 100);
	return 0;
}

static pid_t exec_with(int fd)
{
	pid_t pid = CHECK_OK(fork());
	char number[16];

	if (pid)
		return pid;
	snprintf(number, sizeof(number), "%d", fd);
	execl("/proc/self/exe", "socktest", "exec-helper", number, NULL);
	_exit(3);
}

static void exec_inherits(struct side *s)
{
	int fd = pair(s);
	pid_t pid;

	PEER_EQ(s, 100, AGENT_SEND, H_CONN, 0, 100);
	CHECK_OK(fcntl(fd, F_SETFD, 0));
	pid = exec_with(fd);
	CHECK_OK(close(fd));
	await_child(pid);
	PEER_EQ(s, 100, AGENT_SINK, H_CONN, 0, 0);
}

static void exec_closes(struct side *s)
{
	int fd = pair(s), other = pair_at(s, H_CONN + 1);
	pid_t pid;

	CHECK_OK(fcntl(fd, F_SETFD, FD_CLOEXEC));
	PEER_EQ(s, 100, AGENT_SEND, H_CONN + 1, 0, 100);
	pid = exec_with(other);
	CHECK_OK(close(fd));
	await_child(pid);
	PEER_EQ(s, 0, AGENT_RECV_RAW, H_CONN, 0, 0);
}

static void send_descriptor(int via, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK_EQ(sendmsg(via, &msg, 0), 1);
}

static int recv_descriptor(int via)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	int fd;

	CHECK_EQ(recvmsg(via, &msg, 0), 1);
	c = CMSG_FIRSTHDR(&msg);
	CHECK(c && c->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* The connection lives while its only descriptor is in a message. */
static void passed_on(struct side *s)
{
	int fd = pair(s), via[2];
	pid_t pid;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, via));
	send_descriptor(via[0], fd);
	CHECK_OK(close(fd));
	PEER_EQ(s, 1000, AGENT_SEND, H_CONN, 0, 1000);
	pid = CHECK_OK(fork());
	if (pid == 0) {
		fd = recv_descriptor(via[1]);
		recv_theirs(fd, 0, 1000);
		send_ours(fd, 0, 1000);
		_exit(0);
	}
	await_child(pid);
	PEER_EQ(s, 1000, AGENT_SINK, H_CONN, 0, 0);
}

static void dropped_in_flight(struct side *s)
{
	int fd = pair(s), via[2];

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, via));
	send_descriptor(via[0], fd);
	CHECK_OK(close(fd));
	CHECK_OK(close(via[0]));
	CHECK_OK(close(via[1]));
	PEER_EQ(s, 0, AGENT_RECV_RAW, H_CONN, 0, 0);
}

const struct test_case process_cases[] = {
	{ "process.fork_shares", fork_shares, BOTH_ENDS },
	{ "process.fork_parent_closes", fork_parent_closes, BOTH_ENDS },
	{ "process.fork_server", fork_server, 0 },
	{ "process.prefork", prefork, 0 },
	{ "process.killed", killed, BOTH_ENDS },
	{ "process.dup", dup_keeps_open, BOTH_ENDS },
	{ "process.dup_over", dup_over, BOTH_ENDS },
	{ "process.exec_inherits", exec_inherits, BOTH_ENDS },
	{ "process.exec_closes", exec_closes, BOTH_ENDS },
	{ "process.passed_on", passed_on, BOTH_ENDS },
	{ "process.dropped_in_flight", dropped_in_flight, BOTH_ENDS },
	{ 0 },
};
