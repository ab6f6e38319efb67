// SPDX-License-Identifier: MIT
/*
 * The way to the kernel: one command of the generic netlink family "krcore"
 * and its answer, which include/krcore/uapi.h describes.
 */
#include "krcorectl.h"

#include <krcore/uapi.h>

#include <errno.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>

/* The kernel fills at most that much of a message of a dump. */
enum { MESSAGE_LEN = 32768 };

/* An answer that is coming in. */
struct answer {
	ctl_message_fn fn;
	void *ctx;
	int attr_max;
	int err;		/* of the kernel, -errno */
	bool is_done;
};

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct answer *answer = arg;
	struct nlattr **attrs;

	attrs = calloc((size_t)answer->attr_max + 1, sizeof(*attrs));
	if (!attrs ||
	    genlmsg_parse(nlmsg_hdr(msg), 0, attrs, answer->attr_max, NULL) < 0) {
		answer->err = attrs ? -EBADMSG : -ENOMEM;
		answer->is_done = true;
		free(attrs);
		return NL_STOP;
	}
	answer->fn(attrs, answer->ctx);
	free(attrs);
	return NL_OK;
}

static int on_end(struct nl_msg *msg, void *arg)
{
	struct answer *answer = arg;

	answer->is_done = true;
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct answer *answer = arg;

	answer->err = e->error;
	answer->is_done = true;
	return NL_STOP;
}

static int to_errno(int nl_err)
{
	switch (-nl_err) {
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_AF_NOSUPPORT:
		return -EAFNOSUPPORT;
	default:
		return -EIO;
	}
}

static int send_command(struct nl_sock *sock, int family, int cmd, bool is_dump)
{
	struct nl_msg *msg = nlmsg_alloc();
	int err;

	if (!msg)
		return -NLE_NOMEM;
	if (genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0,
			is_dump ? NLM_F_DUMP : 0, (uint8_t)cmd,
			KRCORE_GENL_VERSION))
		err = nl_send_auto(sock, msg);
	else
		err = -NLE_NOMEM;
	nlmsg_free(msg);
	return err < 0 ? err : 0;
}

static int ask(struct nl_sock *sock, int cmd, bool is_dump, struct answer *answer)
{
	int family, err;

	err = genl_connect(sock);
	if (err < 0)
		return to_errno(err);
	family = genl_ctrl_resolve(sock, KRCORE_GENL_NAME);
	if (family < 0)
		return to_errno(family);
	nl_socket_disable_msg_peek(sock);
	nl_socket_set_msg_buf_size(sock, MESSAGE_LEN);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_valid, answer);
	nl_socket_modify_cb(sock, NL_CB_FINISH, NL_CB_CUSTOM, on_end, answer);
	nl_socket_modify_cb(sock, NL_CB_ACK, NL_CB_CUSTOM, on_end, answer);
	nl_socket_modify_err_cb(sock, NL_CB_CUSTOM, on_error, answer);
	err = send_command(sock, family, cmd, is_dump);
	while (err >= 0 && !answer->is_done)
		err = nl_recvmsgs_default(sock);
	if (answer->err)
		return answer->err;
	return answer->is_done ? 0 : to_errno(err);
}

int ctl_genl_ask(int cmd, bool is_dump, int attr_max, ctl_message_fn fn, void *ctx)
{
	struct answer answer = { .fn = fn, .ctx = ctx, .attr_max = attr_max };
	struct nl_sock *sock = nl_socket_alloc();
	int err;

	if (!sock)
		return -ENOMEM;
	err = ask(sock, cmd, is_dump, &answer);
	nl_socket_free(sock);
	return err;
}

enum ctl_exit ctl_genl_failed(int err)
{
	if (err == -ENOENT) {
		fputs("krcore is not loaded: load it as root with "
		      "'modprobe krcore'\n", stderr);
		return CTL_NOT_LOADED;
	}
	if (err == -EOPNOTSUPP)
		fputs("krcorectl: the loaded krcore does not know this command: "
		      "it is older than krcorectl\n", stderr);
	else
		fprintf(stderr, "krcorectl: asking the kernel: %s\n",
			strerror(-err));
	return CTL_FAILED;
}
