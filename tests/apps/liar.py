#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a user can do in a network namespace of his own: answer hellos there.

liar.py ask FROM TO FILE          a true answer of TO, into FILE
liar.py lie LINK MODE FILE        answer whatever question LINK hears, as the file MODE says:
                                  "true", "instance" (another one), "end" (elsewhere)
liar.py hold TO PORT STOP         echoes over one connection until the file STOP is there
liar.py try TO PORT [MY_PORT]     one echo within 3 s
liar.py echo PORT                 the server
"""

import os
import socket
import struct
import sys
import threading
import time

HELLO_PORT, HELLO_LEN = 981, 200
INSTANCE, QPN = slice(40, 56), slice(88 + 16, 88 + 20)
ETH, IP, UDP = slice(0, 14), slice(14, 34), slice(34, 42)


def answer_of(source, dest, instance):
    question = bytearray(HELLO_LEN)
    question[0:7] = b"KRCO" + bytes((1, 1, 4))
    question[16:24], question[INSTANCE] = os.urandom(8), instance
    question[56:60], question[72:76] = socket.inet_aton(source), socket.inet_aton(dest)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((source, 0))
        sock.connect((dest, HELLO_PORT))
        sock.settimeout(1)
        for _ in range(20):
            sock.send(question)
            try:
                return sock.recv(1024)
            except TimeoutError:
                pass
    sys.exit(f"no answer of {dest}")


def ask(source, dest, file):
    # The token in the answer is for who asks: this host, as it says itself.
    ours = answer_of(source, source, os.urandom(16))[INSTANCE]
    with open(file, "wb") as out:
        out.write(answer_of(source, dest, ours))


def lie(link, mode_file, file):
    with open(file, "rb") as answer_file:
        truth = answer_file.read()
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    sock.bind((link, 0))
    print("ready", flush=True)
    while True:
        frame = sock.recv(2048)
        question = frame[42:]
        if frame[14] != 0x45 or frame[23] != socket.IPPROTO_UDP or \
           len(question) != HELLO_LEN or frame[36:38] != struct.pack("!H", HELLO_PORT):
            continue
        with open(mode_file, encoding="ascii") as now:
            mode = now.read().strip()
        answer = bytearray(truth)
        answer[16:24] = question[16:24]
        if mode == "instance":
            answer[INSTANCE] = b"another instance"
        if mode == "end":
            answer[QPN] = struct.pack("!I", 0xabcdef)
        # To where it came from; the sums of addresses stay, and UDP needs none.
        eth, ip, udp = frame[ETH], frame[IP], frame[UDP]
        sock.send(eth[6:12] + eth[0:6] + eth[12:] + ip[:12] + ip[16:20] + ip[12:16] +
                  udp[2:4] + udp[0:2] + udp[4:6] + bytes(2) + answer)
        print("told", mode, flush=True)


def echoes(sock):
    sock.sendall(b"x" * 1000)
    got = 0
    while got < 1000:
        data = sock.recv(1000)
        if not data:
            raise OSError("closed")
        got += len(data)


def hold(dest, port, stop):
    with socket.create_connection((dest, int(port)), 30) as sock:
        while not os.path.exists(stop):
            echoes(sock)
            time.sleep(0.1)
        echoes(sock)


def attempt(dest, port, my_port="0"):
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("", int(my_port)))
    sock.settimeout(3)
    with sock:
        sock.connect((dest, int(port)))
        echoes(sock)


def serve_one(sock):
    with sock:
        while data := sock.recv(65536):
            sock.sendall(data)


def echo(port):
    listener = socket.socket()
    listener.bind(("", int(port)))
    listener.listen()
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=serve_one, args=(sock,), daemon=True).start()


def main():
    verbs = {"ask": ask, "lie": lie, "hold": hold, "try": attempt, "echo": echo}
    verbs[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
