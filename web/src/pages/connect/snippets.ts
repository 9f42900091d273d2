/** The code to paste into a training script, with URL and token. */
export const pythonSnippet = (url: string, token: string): string => `import math, time
import svc_reporter as svc

run = svc.init(
    project="first-steps",
    name="hello",
    config={"lr": 3e-4},
    url="${url}",
    token="${token}",
)
for step in range(60):
    run.log({"train_loss": math.exp(-step / 15), "val_loss": math.exp(-step / 18) + 0.05}, step=step)
    time.sleep(1)
`

export const shellSnippet = (url: string, token: string): string => `export SVC_URL=${url} SVC_TOKEN=${token}
batch="hello-$(date +%s)"
send() { curl -sS "$SVC_URL/api/events" -H "Authorization: Bearer $SVC_TOKEN" -H 'Content-Type: application/json' -d "$1"; echo; }
event() { printf '{"event_id":"%s","schema_version":"1.1","event_type":"%s","timestamp":"%s","batch_id":"%s","job_id":%s,"source":{"project":"first-steps"},"data":%s}' \\
  "$(cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen)" "$1" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$batch" "$2" "$3"; }
send "$(event batch_start null '{"experiment_type":"demo","n_total":1}')"
send "$(event job_start '"hello"' '{"model":"demo"}')"
for epoch in 0 1 2 3 4 5; do
  send "$(event job_epoch '"hello"' "{\\"epoch\\":$epoch,\\"train_loss\\":0.$((9 - epoch))}")"; sleep 1
done
send "$(event job_done '"hello"' '{"metrics":{},"elapsed_s":6}')"
send "$(event batch_done null '{"n_done":1,"n_failed":0,"total_elapsed_s":6}')"
`
