"""A worker for Factum with nothing but Python: it claims runs, keeps them while it works, and says how they end.

    python3 examples/worker.py http://localhost:7420 --queue words
"""
import argparse, json, sys, threading, time, urllib.error, urllib.request, uuid

options = argparse.ArgumentParser()
options.add_argument("url")
options.add_argument("--queue", default="default")
options.add_argument("--token", help="an API key; factum dev needs none")
options.add_argument("--runs", type=int, help="stop after so many")
args, LEASE_MS = options.parse_args(), 15_000


def call(command, **params):
    headers = {"Authorization": f"Bearer {args.token}"} if args.token else {}
    request = urllib.request.Request(f"{args.url}/v1/{command}", json.dumps(params).encode(), headers)
    return json.load(urllib.request.urlopen(request, timeout=100))


def work(run, progress):
    """What there is to do with a run: here, to count the words of its objective."""
    words = run["objective"].split()
    for number, word in enumerate(words, 1):
        if word == "fail":
            raise ValueError("asked to fail")
        progress(percent=100 * number // len(words), current_step=word)
    return f"{len(words)} words"


def keep(held, over):
    """Says that the worker is alive, three times in each lease, until the run is over or another's."""
    while not over.wait(LEASE_MS / 3000):
        call("heartbeat_run", **held)


def do(run):
    held, over = {"run_id": run["run_id"], "lease_token": run["lease_token"]}, threading.Event()
    threading.Thread(target=keep, args=(held, over), daemon=True).start()
    try:
        summary = work(run, lambda **progress: call("report_run", **held, progress=progress))
        call("complete_run", **held, summary=summary, idempotency_key=f"end/{run['run_id']}/{run['lease_token']}")
    except ValueError as error:
        call("fail_run", **held, error={"category": "bad_input", "message": str(error), "retryable": False})
    finally:
        over.set()


me, done, key = call("enroll_channel", peer_role="worker", queues=[args.queue])["channel_id"], 0, uuid.uuid4()
while args.runs is None or done < args.runs:
    try:  # The same key until there is an answer: where one was lost, asking again gives the same run.
        claim = {"channel_id": me, "lease_ms": LEASE_MS, "wait_ms": 30_000, "idempotency_key": str(key)}
        runs, key = call("claim_runs", **claim)["runs"], uuid.uuid4()
        for run in runs:
            do(run)
            done += 1
    except urllib.error.URLError as error:  # The server is away, or it refused: the run is another's by now.
        print(error, file=sys.stderr)
        time.sleep(1)
