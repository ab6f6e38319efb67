// SPDX-License-Identifier: MIT
/*
 * sendfile, splice and tee: file to socket, pipe to socket, socket to pipe,
 * byte-exact.
 */
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "harness.h"

/* A file in memory with @len bytes of our stream. */
static int file_ours(size_t len)
{
	int fd = CHECK_OK(memfd_create("socktest", MFD_CLOEXEC));
	char *buf = malloc(len);

	fill_ours(0, buf, len);
	CHECK_EQ(write(fd, buf, len), len);
	CHECK_OK(lseek(fd, 0, SEEK_SET));
	free(buf);
	return fd;
}

static void sendfile_whole(struct side *s)
{
	size_t len = (1 << 20) + 77;
	int fd = pair(s), file = file_ours(len);
	off_t off = 0;

	peer_start(s, 0, AGENT_SINK, H_CONN, 0, 0);
	while (off < (off_t)len)
		CHECK(sendfile(fd, file, &off, len - off) > 0);
	CHECK_EQ(off, len);
	CHECK_EQ(lseek(file, 0, SEEK_CUR), 0);
	CHECK_EQ(sendfile(fd, file, &off, 100), 0);
	CHECK_OK(close(fd));
	CHECK_EQ(peer_wait(s), len);
}

static void sendfile_parts(struct side *s)
{
	int fd = pair(s), file = file_ours(20000);
	off_t off = 100;

	CHECK_EQ(sendfile(fd, file, NULL, 100), 100);
	CHECK_EQ(lseek(file, 0, SEEK_CUR), 100);
	CHECK_EQ(sendfile(fd, file, &off, 9000), 9000);
	CHECK_EQ(off, 9100);
	CHECK_EQ(lseek(file, 9100, SEEK_SET), 9100);
	CHECK_EQ(sendfile(fd, file, NULL, 20000), 10900);
	PEER_EQ(s, 20000, AGENT_RECV, H_CONN, 0, 20000);
}

static void sendfile_nonblocking(struct side *s)
{
	size_t len = 8 << 20;
	int fd = pair(s), file = file_ours(len);
	off_t off = 0;
	ssize_t n;

	sock_set(fd, SOL_SOCKET, SO_SNDBUF, 65536);
	PEER_OK(s, AGENT_SETOPT, H_CONN, SOL_SOCKET << 16 | SO_RCVBUF, 65536);
	sock_nonblock(fd, true);
	while ((n = sendfile(fd, file, &off, len - off)) > 0)
		;
	CHECK_ERR(n, EAGAIN);
	CHECK(off < (off_t)len);
	peer_start(s, 0, AGENT_SINK, H_CONN, 0, 0);
	sock_nonblock(fd, false);
	while (off < (off_t)len)
		CHECK(sendfile(fd, file, &off, len - off) > 0);
	CHECK_OK(shutdown(fd, SHUT_WR));
	CHECK_EQ(peer_wait(s), len);
}

static void sendfile_errors(struct side *s)
{
	int fd = pair(s), file = file_ours(100);

	CHECK_ERR(sendfile(file, fd, NULL, 10), EINVAL);
	CHECK_OK(shutdown(fd, SHUT_WR));
	signal(SIGPIPE, SIG_IGN);
	CHECK_ERR(sendfile(fd, file, NULL, 10), EPIPE);
}

static void from_pipe(struct side *s)
{
	int fd = pair(s), pipes[2];
	uint64_t pos = 0, rng = s->seed;
	char buf[30000];

	CHECK_OK(pipe(pipes));
	peer_start(s, 0, AGENT_SINK, H_CONN, 0, 0);
	for (int round = 0; round < 60; round++) {
		size_t len = rng_size(&rng, sizeof(buf)), left = len;

		fill_ours(pos, buf, len);
		CHECK_EQ(write(pipes[1], buf, len), len);
		while (left)
			left -= CHECK_OK(splice(pipes[0], NULL, fd, NULL, left,
						SPLICE_F_MOVE));
		pos += len;
	}
	CHECK_OK(shutdown(fd, SHUT_WR));
	CHECK_EQ(peer_wait(s), pos);
}

/* File to pipe to socket, the way proxies and copy tools do. */
static void from_file(struct side *s)
{
	size_t len = (1 << 20) + 4321, sent = 0;
	int fd = pair(s), file = file_ours(len), pipes[2];

	CHECK_OK(pipe(pipes));
	peer_start(s, 0, AGENT_SINK, H_CONN, 0, 0);
	while (sent < len) {
		ssize_t left = CHECK_OK(splice(file, NULL, pipes[1], NULL,
					       65536, SPLICE_F_MORE));

		for (sent += left; left > 0;)
			left -= CHECK_OK(splice(pipes[0], NULL, fd, NULL, left,
						sent < len ? SPLICE_F_MORE :
							     0));
	}
	CHECK_OK(shutdown(fd, SHUT_WR));
	CHECK_EQ(peer_wait(s), len);
}

static void read_pipe(int pipe_fd, uint64_t pos, ssize_t len)
{
	char *buf = malloc(len);

	for (ssize_t got = 0, n; got < len; got += n) {
		n = CHECK_OK(read(pipe_fd, buf + got, len - got));
		CHECK(n > 0);
	}
	expect_theirs(pos, buf, len);
	free(buf);
}

static void to_pipe(struct side *s)
{
	uint64_t pos = 0, total = 500000;
	int fd = pair(s), pipes[2];

	CHECK_OK(pipe(pipes));
	sock_nonblock(fd, true);
	CHECK_ERR(splice(fd, NULL, pipes[1], NULL, 100, 0), EAGAIN);
	sock_nonblock(fd, false);
	peer_start(s, 0, AGENT_SEND, H_CONN, 0, total);
	while (pos < total) {
		ssize_t n = CHECK_OK(splice(fd, NULL, pipes[1], NULL, 20000, 0));

		CHECK(n > 0);
		read_pipe(pipes[0], pos, n);
		pos += n;
	}
	CHECK_EQ(peer_wait(s), total);
	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	CHECK_EQ(splice(fd, NULL, pipes[1], NULL, 100, 0), 0);
}

/* What is spliced leaves the socket; what follows is read the usual way. */
static void to_pipe_then_recv(struct side *s)
{
	int fd = pair(s), pipes[2];
	ssize_t n;

	CHECK_OK(pipe(pipes));
	PEER_EQ(s, 10000, AGENT_SEND, H_CONN, 0, 10000);
	wait_readable(fd, 10000);
	n = CHECK_OK(splice(fd, NULL, pipes[1], NULL, 77, 0));
	CHECK_EQ(n, 77);
	recv_theirs(fd, 77, 500);
	n = CHECK_OK(splice(fd, NULL, pipes[1], NULL, 1000, 0));
	CHECK(n > 0 && n <= 1000);
	read_pipe(pipes[0], 0, 77);
	read_pipe(pipes[0], 577, n);
	recv_theirs(fd, 577 + n, 10000 - 577 - n);
}

/* Spliced pages stay right though the socket goes on and ends. */
static void pages_outlive_socket(struct side *s)
{
	int fd = pair(s), pipes[2];
	ssize_t n;

	CHECK_OK(pipe(pipes));
	PEER_EQ(s, 20000, AGENT_SEND, H_CONN, 0, 20000);
	wait_readable(fd, 20000);
	n = CHECK_OK(splice(fd, NULL, pipes[1], NULL, 8000, 0));
	CHECK(n > 0);
	recv_theirs(fd, n, 20000 - n);
	CHECK_OK(close(fd));
	PEER_OK(s, AGENT_CLOSE, H_CONN, 0, 0);
	fd = pair_at(s, H_CONN + 1);
	PEER_EQ(s, 20000, AGENT_SEND, H_CONN + 1, 7, 20000);
	recv_theirs(fd, 7, 20000);
	read_pipe(pipes[0], 0, n);
}

static void tee_pipe(struct side *s)
{
	int a = pair(s), b = pair_at(s, H_CONN + 1), one[2], two[2];
	char buf[6000];

	CHECK_OK(pipe(one));
	CHECK_OK(pipe(two));
	fill_ours(0, buf, sizeof(buf));
	CHECK_EQ(write(one[1], buf, sizeof(buf)), sizeof(buf));
	CHECK_EQ(tee(one[0], two[1], sizeof(buf), 0), sizeof(buf));
	CHECK_EQ(splice(one[0], NULL, a, NULL, sizeof(buf), 0), sizeof(buf));
	CHECK_EQ(splice(two[0], NULL, b, NULL, sizeof(buf), 0), sizeof(buf));
	PEER_EQ(s, 6000, AGENT_RECV, H_CONN, 0, 6000);
	PEER_EQ(s, 6000, AGENT_RECV, H_CONN + 1, 0, 6000);
}

const struct test_case splice_cases[] = {
	{ "sendfile.whole", sendfile_whole, BOTH_ENDS },
	{ "sendfile.parts", sendfile_parts, BOTH_ENDS },
	{ "sendfile.nonblocking", sendfile_nonblocking, BOTH_ENDS },
	{ "sendfile.errors", sendfile_errors, BOTH_ENDS },
	{ "splice.from_pipe", from_pipe, BOTH_ENDS },
	{ "splice.from_file", from_file, BOTH_ENDS },
	{ "splice.to_pipe", to_pipe, BOTH_ENDS },
	{ "splice.to_pipe_then_recv", to_pipe_then_recv, BOTH_ENDS },
	{ "splice.pages_outlive_socket", pages_outlive_socket, BOTH_ENDS },
	{ "splice.tee", tee_pipe, BOTH_ENDS },
	{ 0 },
};
