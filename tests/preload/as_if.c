// SPDX-License-Identifier: MIT
/*
 * as_if: run a program as if the kernel answered for krcore as told.
 *
 *	as_if [-c FILE] loaded COMMAND...
 *	as_if [-c FILE] ERRNO COMMAND...
 *
 * A seccomp filter brings each socket() with protocol 254 to us.  We answer
 * with the error, or put a TCP socket in its place and then say 254 where the
 * program reads SO_PROTOCOL of such a one; its SO_PRIORITY tells it apart.
 * -c writes the number of requests for 254 to FILE.  No krcore is needed.
 *
 * Exit status: the program's; 77 if the machine forbids all this.
 */
#include <krcore/uapi.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIP = 77, OUR_PRIORITY = 5 };

#define ARG(n) \
	((unsigned int)(offsetof(struct seccomp_data, args) + 8 * (n)))
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))

static int install_filter(void)
{
	struct sock_filter code[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		UNLESS(SYS_socket, 3),
		LOAD(ARG(2)),
		UNLESS(IPPROTO_KRCORE, 7),
		ANSWER(SECCOMP_RET_USER_NOTIF),
		UNLESS(SYS_getsockopt, 5),
		LOAD(ARG(1)),
		UNLESS(SOL_SOCKET, 3),
		LOAD(ARG(2)),
		UNLESS(SO_PROTOCOL, 1),
		ANSWER(SECCOMP_RET_USER_NOTIF),
		ANSWER(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]), .filter = code,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static int pass_fd(int sock, int fd, int *received)
{
	union { char buf[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } u;
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = u.buf, .msg_controllen = sizeof(u.buf) };
	struct cmsghdr *cmsg = &u.align;

	if (received) {
		if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1 ||
		    !msg.msg_controllen)
			return -1;
		memcpy(received, CMSG_DATA(cmsg), sizeof(int));
		return 0;
	}
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -1;
}

static void reply(int listener, const struct seccomp_notif *req, int error,
		  unsigned int flags)
{
	struct seccomp_notif_resp resp = {
		.id = req->id, .error = error, .flags = flags,
	};

	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

static void answer_socket(int listener, const struct seccomp_notif *req,
			  int error)
{
	struct seccomp_notif_addfd add = {
		.id = req->id, .flags = SECCOMP_ADDFD_FLAG_SEND,
	};
	int type = (int)req->data.args[1];
	int priority = OUR_PRIORITY;
	int fd;

	if (error) {
		reply(listener, req, -error, 0);
		return;
	}
	fd = socket((int)req->data.args[0], type, 0);
	if (fd < 0) {
		reply(listener, req, -errno, 0);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority));
	add.srcfd = (unsigned int)fd;
	add.newfd_flags = type & SOCK_CLOEXEC;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
		reply(listener, req, -errno, 0);
	close(fd);
}

/* The process of a thread. */
static int process_of(unsigned int tid)
{
	char text[64];
	FILE *file;
	int pid = -1;

	snprintf(text, sizeof(text), "/proc/%u/status", tid);
	file = fopen(text, "re");
	if (!file)
		return -1;
	while (fgets(text, sizeof(text), file))
		if (sscanf(text, "Tgid: %d", &pid) == 1)
			break;
	fclose(file);
	return pid;
}

static int is_ours(const struct seccomp_notif *req)
{
	socklen_t len = sizeof(int);
	int priority = 0;
	int pidfd, fd;

	pidfd = (int)syscall(SYS_pidfd_open, process_of(req->pid), 0);
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, (int)req->data.args[0], 0);
	if (fd >= 0)
		getsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, &len);
	close(fd);
	close(pidfd);
	return priority == OUR_PRIORITY;
}

static void answer_getsockopt(int listener, const struct seccomp_notif *req)
{
	int protocol = IPPROTO_KRCORE;
	struct iovec here = { &protocol, sizeof(protocol) };
	struct iovec there = { (void *)(uintptr_t)req->data.args[3],
			       sizeof(protocol) };

	if (is_ours(req) &&
	    process_vm_writev((pid_t)req->pid, &here, 1, &there, 1, 0) > 0)
		reply(listener, req, 0, 0);
	else
		reply(listener, req, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

/* Until the last process under the filter has gone. */
static int serve(int listener, int error)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };
	struct seccomp_notif req;
	int asked = 0;

	for (;;) {
		if (poll(&pfd, 1, -1) < 0 && errno == EINTR)
			continue;
		if (!(pfd.revents & POLLIN))
			return asked;
		memset(&req, 0, sizeof(req));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
			continue;
		if (req.data.nr == SYS_socket) {
			asked++;
			answer_socket(listener, &req, error);
		} else {
			answer_getsockopt(listener, &req);
		}
	}
}

static void become(int sock, char **command)
{
	int listener = install_filter();

	if (listener < 0 || pass_fd(sock, listener, NULL) < 0)
		_exit(SKIP);
	close(listener);
	close(sock);
	execvp(command[0], command);
	_exit(127);
}

static int parse_errno(const char *name)
{
	for (int error = 1; error < 200; error++) {
		const char *known = strerrorname_np(error);

		if (known && !strcmp(known, name))
			return error;
	}
	return 0;
}

static void write_count(const char *path, int asked)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return;
	fprintf(file, "%d\n", asked);
	fclose(file);
}

int main(int argc, char **argv)
{
	const char *count_file = NULL;
	int listener, asked, status;
	int pair[2];
	pid_t pid;

	if (argc > 3 && !strcmp(argv[1], "-c")) {
		count_file = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc < 3 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return SKIP;
	pid = fork();
	if (pid == 0)
		become(pair[1], argv + 2);
	close(pair[1]);
	if (pid < 0 || pass_fd(pair[0], -1, &listener) < 0)
		return SKIP;
	asked = serve(listener, parse_errno(argv[1]));
	if (count_file)
		write_count(count_file, asked);
	if (waitpid(pid, &status, 0) < 0)
		return SKIP;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
