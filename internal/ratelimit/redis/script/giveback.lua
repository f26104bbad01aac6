-- giveback: take units out of what earlier charges recorded.
--
-- KEYS: one a return. ARGV[1]: clock:7 (0: Redis's own), then for each return
-- kind:1 (the algorithm), window or refill:6, receipt:8 (time:7 mark:1), cost:6, units:6 (at most the cost).
-- The answer is one string with, for each return, the units given back:6.
local JUDGES = { judge_log, judge_segments, judge_bucket, judge_window }
local RECORDERS = { record_log, record_segments, record_bucket, record_window }

-- A return takes the receipt, the window or refill, the cost, the units, and what the judge answered; it answers the
-- units given back and the two values for the recorder.

-- The entries with the receipt's mark are its own. The units that stay get the mark of nobody.
local function return_log(receipt, _, cost, units, _, entries, mark)
  local first = string.find(entries, receipt, 1, true)
  while first and first % 8 ~= 1 do
    first = string.find(entries, receipt, first + 1, true)
  end
  if not first or sub(entries, first, first + 8 * cost - 1) ~= rep(receipt, cost) then
    return 0
  end
  local kept = rep(sub(receipt, 1, 7) .. char(255), cost - units)
  return units, sub(entries, 1, first - 1) .. kept .. sub(entries, first + 8 * cost), mark
end

-- The segment that covers the receipt's time gives.
local function return_segments(receipt, window, _, units, _, entries)
  local at, width = parse('>I7', receipt), floor(window / 60)
  for p = 1, #entries, 13 do
    local begin, counted = parse('>I7I6', entries, p)
    if begin <= at and at < begin + width then
      units = min(units, counted)
      local left = units < counted and pack('>I7I6', begin, counted - units) or ''
      return units, sub(entries, 1, p - 1) .. left .. sub(entries, p + 13)
    end
  end
  return 0
end

-- What time has refilled since the charge is no longer the charge's to give.
local function return_bucket(receipt, refill, _, units, _, lack, part)
  local age = now - parse('>I7', receipt)
  if age < 0 then
    return 0
  end
  units = max(0, units - refill_units(age, 0, refill))
  local less, rest = refill_time(units, refill)
  lack, part = lack - less, part - rest
  if part < 0 then
    lack, part = lack - 1, part + refill
  end
  if lack < 0 then
    lack, part = 0, 0
  end
  return units, lack, part
end

local function return_window(receipt, _, _, units, used, begin)
  local at = parse('>I7', receipt)
  if at < begin or at > now then
    return 0
  end
  return min(units, used), begin
end

local RETURNS = { return_log, return_segments, return_bucket, return_window }

local request = ARGV[1]
read_clock(parse('>I7', request))
local values = read_values()

local answer = {}
for i = 1, #KEYS do
  local from = 27 * i - 19
  local kind, span = parse('>BI6', request, from)
  local receipt = sub(request, from + 7, from + 14)
  local cost, units = parse('>I6I6', request, from + 15)
  local used, _, _, a, b = JUDGES[kind](values[i], 0, span, 0)
  local given = 0
  if used and used > 0 then
    given, a, b = RETURNS[kind](receipt, span, cost, units, used, a, b)
  end
  if given > 0 then
    local value, life = RECORDERS[kind](0, span, used - given, a, b)
    store(KEYS[i], value, life)
  end
  answer[i] = pack('>I6', given)
end
return table.concat(answer)
