// SPDX-License-Identifier: MIT
/*
 * Every send and receive call and flag, byte-exact, on both kinds of ends.
 */
#include <sys/mman.h>

#include "harness.h"

enum { STEP = 3000 };

static ssize_t send_by(int call, int fd, char *buf, size_t len)
{
	struct iovec iov[2] = { { buf, len / 3 }, { buf + len / 3,
						   len - len / 3 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct mmsghdr mm = { .msg_hdr = msg };

	switch (call) {
	case 0:
		return write(fd, buf, len);
	case 1:
		return writev(fd, iov, 2);
	case 2:
		return send(fd, buf, len, 0);
	case 3:
		return sendto(fd, buf, len, MSG_NOSIGNAL, NULL, 0);
	case 4:
		return sendmsg(fd, &msg, 0);
	default:
		CHECK_EQ(sendmmsg(fd, &mm, 1, 0), 1);
		return mm.msg_len;
	}
}

static void send_calls(struct side *s)
{
	int fd = pair(s);
	char buf[STEP];

	for (int call = 0; call < 6; call++) {
		fill_ours(call * STEP, buf, STEP);
		CHECK_EQ(send_by(call, fd, buf, STEP), STEP);
	}
	PEER_EQ(s, 6 * STEP, AGENT_RECV, H_CONN, 0, 6 * STEP);
}

static ssize_t recv_by(int call, int fd, char *buf, size_t len)
{
	struct iovec iov[2] = { { buf, len / 3 }, { buf + len / 3,
						   len - len / 3 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct mmsghdr mm = { .msg_hdr = msg };

	switch (call) {
	case 0:
		return read(fd, buf, len);
	case 1:
		return readv(fd, iov, 2);
	case 2:
		return recv(fd, buf, len, 0);
	case 3:
		return recvfrom(fd, buf, len, 0, NULL, NULL);
	case 4:
		return recvmsg(fd, &msg, 0);
	default:
		CHECK_EQ(recvmmsg(fd, &mm, 1, 0, NULL), 1);
		return mm.msg_len;
	}
}

static void recv_calls(struct side *s)
{
	int fd = pair(s);
	char buf[STEP];

	PEER_EQ(s, 6 * STEP, AGENT_SEND, H_CONN, 0, 6 * STEP);
	wait_readable(fd, 6 * STEP);
	for (int call = 0; call < 6; call++) {
		CHECK_EQ(recv_by(call, fd, buf, STEP), STEP);
		expect_theirs(call * STEP, buf, STEP);
	}
}

static const size_t odd_sizes[] = { 1, 0, 3, 7, 4095, 4097, 1, 16, 13001, 0,
				    2, 8191 };

enum { NR_ODD = sizeof(odd_sizes) / sizeof(odd_sizes[0]) };

static size_t odd_iov(struct iovec *iov, char *buf)
{
	size_t used = 0;

	for (int i = 0; i < NR_ODD; i++) {
		iov[i] = (struct iovec){ buf + used, odd_sizes[i] };
		used += odd_sizes[i];
	}
	return used;
}

static void odd_vectors(struct side *s)
{
	struct iovec iov[NR_ODD];
	char buf[32768];
	size_t len = odd_iov(iov, buf);
	int fd = pair(s);

	fill_ours(0, buf, len);
	CHECK_EQ(writev(fd, iov, NR_ODD), len);
	PEER_EQ(s, len, AGENT_RECV, H_CONN, 0, len);
	PEER_EQ(s, len, AGENT_SEND, H_CONN, 0, len);
	wait_readable(fd, len);
	memset(buf, 0, sizeof(buf));
	CHECK_EQ(readv(fd, iov, NR_ODD), len);
	expect_theirs(0, buf, len);
}

static void multiple_messages(struct side *s)
{
	struct mmsghdr mm[3] = { 0 };
	struct iovec iov[3];
	char buf[300];
	int fd = pair(s);

	for (int i = 0; i < 3; i++) {
		iov[i] = (struct iovec){ buf + i * 100, 100 };
		mm[i].msg_hdr.msg_iov = &iov[i];
		mm[i].msg_hdr.msg_iovlen = 1;
	}
	fill_ours(0, buf, 300);
	CHECK_EQ(sendmmsg(fd, mm, 3, 0), 3);
	PEER_EQ(s, 300, AGENT_RECV, H_CONN, 0, 300);
	PEER_EQ(s, 250, AGENT_SEND, H_CONN, 0, 250);
	wait_readable(fd, 250);
	CHECK_EQ(recvmmsg(fd, mm, 3, MSG_DONTWAIT, NULL), 3);
	CHECK_EQ(mm[0].msg_len, 100);
	CHECK_EQ(mm[2].msg_len, 50);
	expect_theirs(0, buf, 250);
	CHECK_ERR(recvmmsg(fd, mm, 3, MSG_DONTWAIT, NULL), EAGAIN);
}

static void zero_length(struct side *s)
{
	struct iovec iov = { NULL, 0 };
	int fd = pair(s);
	char byte;

	CHECK_EQ(send(fd, "", 0, 0), 0);
	CHECK_EQ(write(fd, "", 0), 0);
	CHECK_EQ(writev(fd, &iov, 1), 0);
	CHECK_EQ(read(fd, &byte, 0), 0);
	CHECK_ERR(recv(fd, &byte, 0, MSG_DONTWAIT), EAGAIN);
	PEER_EQ(s, 3, AGENT_SEND, H_CONN, 0, 3);
	wait_readable(fd, 3);
	CHECK_EQ(recv(fd, &byte, 0, 0), 0);
	CHECK_EQ(read(fd, &byte, 0), 0);
	wait_readable(fd, 3);
	recv_theirs(fd, 0, 3);
	send_ours(fd, 0, 3);
	PEER_EQ(s, 3, AGENT_RECV, H_CONN, 0, 3);
}

static void nothing_there(struct side *s)
{
	int fd = pair(s);
	char buf[8];

	CHECK_ERR(recv(fd, buf, 8, MSG_DONTWAIT), EAGAIN);
	CHECK_ERR(recv(fd, buf, 8, MSG_DONTWAIT | MSG_PEEK), EAGAIN);
	CHECK_ERR(recv(fd, buf, 8, MSG_DONTWAIT | MSG_WAITALL), EAGAIN);
	sock_nonblock(fd, true);
	CHECK_ERR(recv(fd, buf, 8, 0), EAGAIN);
	CHECK_ERR(read(fd, buf, 8), EAGAIN);
	sock_nonblock(fd, false);
	peer_start(s, 200, AGENT_SEND, H_CONN, 0, 8);
	CHECK_EQ(recv(fd, buf, 8, MSG_WAITALL), 8);
	CHECK_EQ(peer_wait(s), 8);
	expect_theirs(0, buf, 8);
}

static void peek(struct side *s)
{
	int fd = pair(s);
	char buf[9000];

	PEER_EQ(s, 9000, AGENT_SEND, H_CONN, 0, 9000);
	wait_readable(fd, 9000);
	CHECK_EQ(recv(fd, buf, 10, MSG_PEEK), 10);
	expect_theirs(0, buf, 10);
	CHECK_EQ(recv(fd, buf, 9000, MSG_PEEK), 9000);
	expect_theirs(0, buf, 9000);
	wait_readable(fd, 9000);
	CHECK_EQ(recv(fd, buf, 5, 0), 5);
	expect_theirs(0, buf, 5);
	CHECK_EQ(recv(fd, buf, 100, MSG_PEEK), 100);
	expect_theirs(5, buf, 100);
	recv_theirs(fd, 5, 8995);
	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	CHECK_EQ(recv(fd, buf, 10, MSG_PEEK), 0);
	CHECK_EQ(recv(fd, buf, 10, 0), 0);
}

static void wait_all(struct side *s)
{
	int fd = pair(s);
	char buf[5000];

	peer_start(s, 0, AGENT_SEND_PIECES, H_CONN, 0, 5000);
	CHECK_EQ(recv(fd, buf, 5000, MSG_WAITALL), 5000);
	expect_theirs(0, buf, 5000);
	CHECK_EQ(peer_wait(s), 5000);
	PEER_EQ(s, 70, AGENT_SEND, H_CONN, 5000, 70);
	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	CHECK_EQ(recv(fd, buf, 5000, MSG_WAITALL), 70);
	expect_theirs(5000, buf, 70);
	CHECK_EQ(recv(fd, buf, 5000, MSG_WAITALL), 0);
}

static void truncate_flag(struct side *s)
{
	int fd = pair(s);
	char buf[100];

	PEER_EQ(s, 9000, AGENT_SEND, H_CONN, 0, 9000);
	wait_readable(fd, 9000);
	CHECK_EQ(recv(fd, NULL, 8000, MSG_TRUNC), 8000);
	memset(buf, 0x5a, sizeof(buf));
	CHECK_EQ(recv(fd, buf, 100, MSG_TRUNC), 100);
	CHECK_EQ(buf[0], 0x5a);
	recv_theirs(fd, 8100, 900);
}

static void more_flag(struct side *s)
{
	char buf[30];
	int fd = pair(s);

	fill_ours(0, buf, 30);
	CHECK_EQ(send(fd, buf, 10, MSG_MORE), 10);
	CHECK_EQ(send(fd, buf + 10, 10, MSG_MORE), 10);
	CHECK_EQ(send(fd, buf + 20, 10, 0), 10);
	PEER_EQ(s, 30, AGENT_RECV, H_CONN, 0, 30);
	fill_ours(30, buf, 30);
	sock_set(fd, IPPROTO_TCP, TCP_CORK, 1);
	CHECK_EQ(send(fd, buf, 30, 0), 30);
	sock_set(fd, IPPROTO_TCP, TCP_CORK, 0);
	PEER_EQ(s, 30, AGENT_RECV, H_CONN, 30, 30);
	fill_ours(60, buf, 30);
	CHECK_EQ(send(fd, buf, 30, MSG_EOR), 30);
	PEER_EQ(s, 30, AGENT_RECV, H_CONN, 60, 30);
	fill_ours(90, buf, 30);
	CHECK_EQ(send(fd, buf, 30, MSG_MORE), 30);
	CHECK_OK(shutdown(fd, SHUT_WR));
	PEER_EQ(s, 30, AGENT_SINK, H_CONN, 90, 0);
}

static void header_fields(struct side *s)
{
	char buf[64], control[64];
	struct addr from = { .len = sizeof(from.ss) };
	struct iovec iov = { buf, 10 };
	struct msghdr msg = {
		.msg_name = &from.ss, .msg_namelen = sizeof(from.ss),
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control), .msg_flags = 0x7f,
	};
	int fd = pair(s);

	PEER_EQ(s, 20, AGENT_SEND, H_CONN, 0, 20);
	wait_readable(fd, 20);
	CHECK_EQ(recvmsg(fd, &msg, 0), 10);
	CHECK_EQ(msg.msg_flags & ~MSG_CMSG_CLOEXEC, 0);
	CHECK_EQ(msg.msg_controllen, 0);
	CHECK_EQ(msg.msg_namelen, 0);
	CHECK_EQ(recvfrom(fd, buf, 10, 0, &from.sa, &from.len), 10);
	CHECK_EQ(from.len, 0);
	fill_ours(0, buf, 10);
	CHECK_EQ(sendto(fd, buf, 10, 0, &s->remote.sa, s->remote.len), 10);
	PEER_EQ(s, 10, AGENT_RECV, H_CONN, 0, 10);
	CHECK_ERR(recv(fd, buf, 10, MSG_ERRQUEUE), EAGAIN);
}

static void unconnected(struct side *s)
{
	int fd = sock_new(s, 0);
	char byte;

	CHECK_ERR(recv(fd, &byte, 1, 0), ENOTCONN);
	CHECK_ERR(recv(fd, &byte, 1, MSG_DONTWAIT), ENOTCONN);
	CHECK_ERR(read(fd, &byte, 1), ENOTCONN);
	CHECK_ERR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_ERR(sendto(fd, "x", 1, MSG_NOSIGNAL, &s->remote.sa,
			 s->remote.len), EPIPE);
	CHECK_ERR(shutdown(fd, SHUT_WR), ENOTCONN);
	CHECK_ERR(shutdown(fd, SHUT_RDWR), ENOTCONN);
	CHECK_ERR(lseek(fd, 0, SEEK_SET), ESPIPE);
	CHECK_ERR(pwrite(fd, "x", 1, 0), ESPIPE);
}

/* Two pages, the second of them not there. */
static char *half_mapped(void)
{
	char *map = mmap(NULL, 65536 + 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(map != MAP_FAILED);
	CHECK_OK(munmap(map + 65536, 4096));
	return map + 65536;
}

/* What a faulting send says it took is exactly what is in the stream. */
static void send_fault(struct side *s)
{
	static const size_t before[] = { 0, 1, 100, 4096, 5000, 65536 };
	char *edge = half_mapped();
	uint64_t pos = 0;
	int fd = pair(s);

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		ssize_t n;

		fill_ours(pos, edge - before[i], before[i]);
		n = send(fd, edge - before[i], before[i] + 4096, 0);
		if (n < 0)
			CHECK_ERR(n, EFAULT);
		else
			CHECK(n > 0 && n <= (ssize_t)before[i]);
		if (n > 0)
			pos += n;
	}
	send_ours(fd, pos, 100);
	PEER_EQ(s, pos + 100, AGENT_RECV, H_CONN, 0, pos + 100);
}

/* What a faulting recv did not return is still there. */
static void recv_fault(struct side *s)
{
	static const size_t before[] = { 0, 1, 100, 4096, 5000 };
	char *edge = half_mapped();
	uint64_t pos = 0;
	int fd = pair(s);

	PEER_EQ(s, 30000, AGENT_SEND, H_CONN, 0, 30000);
	wait_readable(fd, 30000);
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		ssize_t n = recv(fd, edge - before[i], before[i] + 4096, 0);

		if (n < 0) {
			CHECK_ERR(n, EFAULT);
			continue;
		}
		CHECK(n > 0 && n <= (ssize_t)before[i]);
		expect_theirs(pos, edge - before[i], n);
		pos += n;
	}
	recv_theirs(fd, pos, 30000 - pos);
	CHECK_ERR(recv(fd, edge, 1, MSG_DONTWAIT), EAGAIN);
}

static void byte_by_byte(struct side *s)
{
	int fd = pair(s);
	char byte;

	sock_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	for (int i = 0; i < 500; i++)
		send_ours(fd, i, 1);
	PEER_EQ(s, 500, AGENT_RECV, H_CONN, 0, 500);
	PEER_EQ(s, 500, AGENT_SEND, H_CONN, 0, 500);
	for (int i = 0; i < 500; i++) {
		CHECK_EQ(recv(fd, &byte, 1, 0), 1);
		expect_theirs(i, &byte, 1);
	}
}

const struct test_case send_recv_cases[] = {
	{ "send_recv.send_calls", send_calls, BOTH_ENDS },
	{ "send_recv.recv_calls", recv_calls, BOTH_ENDS },
	{ "send_recv.odd_vectors", odd_vectors, BOTH_ENDS },
	{ "send_recv.multiple_messages", multiple_messages, BOTH_ENDS },
	{ "send_recv.zero_length", zero_length, BOTH_ENDS },
	{ "send_recv.nothing_there", nothing_there, BOTH_ENDS },
	{ "send_recv.peek", peek, BOTH_ENDS },
	{ "send_recv.wait_all", wait_all, BOTH_ENDS },
	{ "send_recv.truncate_flag", truncate_flag, BOTH_ENDS },
	{ "send_recv.more_flag", more_flag, BOTH_ENDS },
	{ "send_recv.header_fields", header_fields, BOTH_ENDS },
	{ "send_recv.unconnected", unconnected, 0 },
	{ "send_recv.send_fault", send_fault, BOTH_ENDS },
	{ "send_recv.recv_fault", recv_fault, BOTH_ENDS },
	{ "send_recv.byte_by_byte", byte_by_byte, BOTH_ENDS },
	{ 0 },
};
