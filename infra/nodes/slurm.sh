#!/bin/bash
# Training on several machines by Slurm; flows/nodes/slurm.py fills in what stands in braces.
# What only your cluster knows, say by Slurm's variables (SBATCH_PARTITION, SBATCH_ACCOUNT,
# SBATCH_TIMELIMIT, SBATCH_GPUS_PER_NODE, ...) or here.
#SBATCH --job-name={{ name }}
#SBATCH --nodes={{ nodes }}
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
# One job of a name at a time: a second one waits, and finds what the first has made.
#SBATCH --dependency=singleton
# A machine that dies takes the job with it: Slurm starts it again, on others.
#SBATCH --requeue
#SBATCH --open-mode=append

srun --export=ALL --kill-on-bad-exit=1 test -e {{ file }} || {
  echo "error: not every node sees $PWD; put the clone into a folder that all of them share" >&2
  exit 1
}
export PYTHON={{ python }}
mapfile -t HOSTS < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
for ((START = 0; START <= {{ restarts }}; START++)); do
  ((START == 0)) || echo "a process has died; start $((START + 1)) from the last checkpoint" >&2
  # torchrun's port runs what it is told and asks nobody for a password: the network of the nodes must be private
  export ENDPOINT="${HOSTS[0]}:$((29500 + (SLURM_JOB_ID + START) % 1000))"
  export RENDEZVOUS="$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}.$START"
  # shellcheck disable=SC2016 # each node knows its own number and name
  srun --export=ALL --kill-on-bad-exit=1 --cpu-bind=none bash -c '
    exec "$PYTHON" -m torch.distributed.run --nnodes {{ nodes }} --nproc-per-node {{ processes }} \
      --max-restarts 0 --shutdown-timeout {{ shutdown_seconds }} --local-addr "$SLURMD_NODENAME" \
      --rdzv-backend c10d --rdzv-id "$RENDEZVOUS" --rdzv-endpoint "$ENDPOINT" \
      --rdzv-conf "is_host=$((SLURM_NODEID == 0))" -m stages.train' && exit 0
done
exit 1
