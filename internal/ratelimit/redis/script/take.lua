-- take: decide all charges at once.
--
-- KEYS: one a charge. ARGV[1]: clock:7 (0: Redis's own), then for each charge
-- kind:1 (the algorithm, + 16 for a shadow), limit:6, window or refill:6, cost:6 (limit + 1 stands for anything more).
-- The answer is one string with, for each charge, status:1 remaining:6 wait:6 retry:6 receipt:8 (0: none recorded).
local DENIED, FITS, FAULT = 0, 1, 2
local JUDGES = { judge_log, judge_segments, judge_bucket, judge_window }
local RECORDERS = { record_log, record_segments, record_bucket, record_window }

local request = ARGV[1]
read_clock(parse('>I7', request))
local values = read_values()

local charges, fits = {}, true
for i = 1, #KEYS do
  local kind, limit, span, cost = parse('>BI6I6I6', request, 19 * i - 11)
  local shadow = kind >= 16
  if shadow then
    kind = kind - 16
  end
  stepped = false
  local used, wait, retry, a, b = JUDGES[kind](values[i], limit, span, cost)
  local status = FITS
  if not used then
    status, used, wait, retry = FAULT, limit, 0, 0
  elseif cost > 0 and cost > limit - used then
    status = DENIED
    fits = fits and shadow
  end
  charges[i] = { status, kind, limit, span, cost, used, wait, retry, a, b, stepped }
end

-- settle stores what has to be stored of a charge that is not recorded: a value that a step of the clock moved, or
-- one whose time to live is missing or too long. Nothing else changes. A value of another shape is let go in time, too.
local function settle(key, charge)
  local status, kind, limit, span, used, a, b = charge[1], charge[2], charge[3], charge[4], charge[6], charge[9], charge[10]
  local longest = span
  if kind == 2 then
    longest = span + floor(span / 60)
  elseif kind == 3 then
    longest = refill_time(max(used, limit), span) + 1
  end
  local ttl = redis.call('PTTL', key)
  if not charge[11] and ttl >= 0 and ttl <= lease(longest) then
    return
  end
  if status == FAULT then
    redis.call('PEXPIRE', key, lease(longest))
  elseif used == 0 then
    redis.call('DEL', key)
  else
    store(key, RECORDERS[kind](0, span, used, a, b))
  end
end

local answer = {}
for i = 1, #KEYS do
  local charge = charges[i]
  local status, kind, limit, cost, used, wait, retry = charge[1], charge[2], charge[3], charge[5], charge[6], charge[7], charge[8]
  local at, mark = 0, 0
  if fits and status == FITS and cost > 0 then
    local value, life, first
    value, life, first, mark = RECORDERS[kind](cost, charge[4], used, charge[9], charge[10])
    at, wait, used = now, used > 0 and wait or first, used + cost
    store(KEYS[i], value, life)
  elseif values[i] then
    settle(KEYS[i], charge)
  end
  answer[i] = pack('>BI6I6I6I7B', status, max(0, limit - used), wait, retry, at, mark)
end
return table.concat(answer)
