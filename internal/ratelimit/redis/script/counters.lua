-- The four algorithms as pure functions over stored strings. This file is the first half of every script; the second
-- half is take.lua or giveback.lua.
--
-- Times are microseconds, whole numbers far below 2^53, so doubles hold them exactly. Stored integers are big-endian.
-- A value begins with one byte that names its shape:
--
--   L next:1 (time:7 mark:1)*        one entry a unit, the oldest first; marks tell charges of one instant apart: next
--                                    is that of the next charge, and 255 marks what no receipt names
--   S total:7 (begin:7 units:6)*     one entry a segment, the oldest first, and the sum of their units
--   W begin:7 units:7                the window that began with its first hit
--   B at:7 lack:7 part:6 refill:6    at that time the bucket was full again in lack + part ÷ refill
--
-- A judge takes the value (false: none), the limit, its window (a bucket's refill) and the cost. It answers the units
-- used, the time until fewer are, the time until the cost fits (meaningful only if it does not), and what its recorder
-- needs; or nil for a value of another shape. A recorder takes the cost, the window or refill, and what the judge
-- answered. It answers the new value, its life, the time until a unit is free if none was used before, and the mark of
-- the entries. With a cost of 0 it answers the same counter as a value that is good from now on.
--
-- A clock that was set back is dealt with in the judges: the value is moved back by the same step, so that it ages on
-- from the first call that sees the step, and `stepped` tells the caller to store it so.
local pack, parse = struct.pack, struct.unpack
local byte, char, sub, rep = string.byte, string.char, string.sub, string.rep
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

local now
local stepped = false
local grace = 0 -- Milliseconds by which values outlive their use.

-- The clock is Redis's own. Only tests send a time, and then Redis, which expires keys by its own, has to wait.
local function read_clock(given)
  if given > 0 then
    now, grace = given, 3600000
    return
  end
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
end

-- read_values is what the keys hold: false for nothing, an empty string, which no judge accepts, for what is not a string.
local function read_values()
  local values, missing = redis.call('MGET', unpack(KEYS)), {}
  for i = 1, #KEYS do
    if not values[i] then
      missing[#missing + 1] = KEYS[i]
    end
  end
  if #missing > 0 and redis.call('EXISTS', unpack(missing)) > 0 then
    for i = 1, #KEYS do
      if not values[i] and redis.call('EXISTS', KEYS[i]) == 1 then
        values[i] = ''
      end
    end
  end
  return values
end

-- lease is a life in the milliseconds of a time to live.
local function lease(life)
  return ceil(life / 1000) + grace
end

-- store keeps a value for as long as it can matter.
local function store(key, value, life)
  redis.call('SET', key, value, 'PX', lease(life))
end

-- shift moves the time at the head of every entry of the given size, from the position on, by delta.
local function shift(v, from, size, delta)
  local moved = { sub(v, 1, from - 1) }
  for p = from, #v, size do
    moved[#moved + 1] = pack('>I7', max(0, parse('>I7', v, p) + delta))
    moved[#moved + 1] = sub(v, p + 7, p + size - 1)
  end
  stepped = true
  return table.concat(moved)
end

-- live is the position of the first entry whose time is above cut, in steps of size; past the end if none is.
local function live(v, from, size, cut)
  if from > #v or parse('>I7', v, from) > cut then
    return from
  end
  local low, high = 0, (#v - from + 1) / size
  while high - low > 1 do
    local middle = floor((low + high) / 2)
    if parse('>I7', v, from + middle * size) > cut then
      high = middle
    else
      low = middle
    end
  end
  return from + high * size
end

-- The log. A unit at t counts while t > now − window. What the recorder needs: the live entries and the next mark.
local function judge_log(v, limit, window, cost)
  if not v then
    return 0, 0, 0, '', 0
  end
  local size = #v
  if byte(v) ~= 76 or size % 8 ~= 2 or size > 8194 then
    return nil
  end
  local mark = byte(v, 2)
  if size == 2 then
    return 0, 0, 0, '', mark
  end
  local newest = parse('>I7', v, size - 7)
  if newest > now then
    v = shift(v, 3, 8, now - newest)
  end
  local first = live(v, 3, 8, now - window)
  local used = (size + 1 - first) / 8
  if used == 0 then
    return 0, 0, 0, '', mark
  end
  local wait, retry = 0, 0
  if limit > 0 then
    wait = parse('>I7', v, first + 8 * max(0, used - limit)) + window - now
  end
  if cost > limit - used and cost <= limit then
    retry = parse('>I7', v, first + 8 * (used - limit + cost - 1)) + window - now
  end
  return used, wait, retry, sub(v, first), mark
end

local function record_log(cost, window, _, entries, mark)
  local new = rep(pack('>I7B', now, mark), cost)
  return 'L' .. char((mark + 1) % 255) .. entries .. new, window, window, mark
end

-- The segments. One begins with the first unit that no older one covers, spans a sixtieth of the window, and leaves
-- as a whole when its last instant does. What the recorder needs: the live entries.
local function judge_segments(v, limit, window, cost)
  if not v then
    return 0, 0, 0, ''
  end
  local size = #v
  if byte(v) ~= 83 or size % 13 ~= 8 or size < 21 or size > 840 then
    return nil
  end
  local newest = parse('>I7', v, size - 12)
  if newest > now then
    v = shift(v, 9, 13, now - newest)
  end
  local kept = window + floor(window / 60) - 1
  local used, first = parse('>I7', v, 2), live(v, 9, 13, now - kept)
  for p = 9, first - 1, 13 do
    used = used - parse('>I6', v, p + 7)
  end
  if first > size then
    return 0, 0, 0, ''
  end
  local wait, retry, freed = nil, nil, 0
  for p = first, size, 13 do
    local begin, units = parse('>I7I6', v, p)
    freed = freed + units
    if not wait and used - freed < min(used, limit) then
      wait = begin + kept - now
    end
    if not retry and used - freed <= limit - cost then
      retry = begin + kept - now
    end
    if wait and retry then
      break
    end
  end
  return max(0, used), limit > 0 and wait or 0, retry or 0, sub(v, first)
end

local function record_segments(cost, window, used, v)
  local width = floor(window / 60)
  local begin, units = now, cost
  if v ~= '' then
    local newest, counted = parse('>I7I6', v, #v - 12)
    if newest + width > now then
      begin, units, v = newest, counted + cost, sub(v, 1, -14)
    end
  end
  local left = begin + width - 1 + window - now
  return 'S' .. pack('>I7', used + cost) .. v .. pack('>I7I6', begin, units), left, left, 0
end

-- The fixed window. What the recorder needs: when the window began.
local function judge_window(v, limit, window, cost)
  if not v then
    return 0, 0, 0, now
  end
  if byte(v) ~= 87 or #v ~= 15 then
    return nil
  end
  local begin, used = parse('>I7I7', v, 2)
  if begin > now then
    begin, stepped = now, true
  end
  local rest = begin + window - now
  if rest <= 0 or used == 0 then
    return 0, 0, 0, now
  end
  return used, limit > 0 and rest or 0, rest, begin
end

local function record_window(cost, window, used, begin)
  local left = begin + window - now
  return 'W' .. pack('>I7I7', begin, used + cost), left, left, 0
end

-- The bucket counts what it lacks as the time in which that is refilled: whole microseconds and a part, in units of
-- one refill-th of a microsecond. No product below exceeds 10^15: all are exact.

-- refill_time is the time in which the units are refilled.
local function refill_time(units, refill)
  local seconds = floor(units / refill)
  local rest = (units - seconds * refill) * 1000
  local ms = floor(rest / refill)
  rest = (rest - ms * refill) * 1000
  local us = floor(rest / refill)
  return seconds * 1000000 + ms * 1000 + us, rest - us * refill
end

-- refill_units is how many units are refilled in the time, rounded up.
local function refill_units(lack, part, refill)
  local seconds = floor(lack / 1000000)
  local us = lack - seconds * 1000000
  local millions = floor(refill / 1000000)
  local rest = us * (refill - millions * 1000000) + part
  return seconds * refill + us * millions + ceil(rest / 1000000)
end

-- What the recorder needs: the time that the bucket lacks, as lack and part.
local function judge_bucket(v, limit, refill, cost)
  if not v then
    return 0, 0, 0, 0, 0
  end
  if byte(v) ~= 66 or #v ~= 27 then
    return nil
  end
  local at, lack, part, before = parse('>I7I7I6I6', v, 2)
  if before == 0 then
    return nil
  end
  if at > now then
    at, stepped = now, true
  end
  lack = lack - (now - at)
  if lack < 0 then
    return 0, 0, 0, 0, 0
  end
  if before ~= refill then
    lack, part = refill_time(refill_units(lack, part, before), refill)
  end
  local used = refill_units(lack, part, refill)
  if used == 0 then
    return 0, 0, 0, 0, 0
  end
  local function left(units)
    local whole, rest = refill_time(units, refill)
    return lack - whole + (part > rest and 1 or 0)
  end
  local wait, retry = 0, 0
  if limit > 0 then
    wait = left(min(used, limit) - 1)
  end
  if cost <= limit and cost > limit - used then
    retry = left(limit - cost)
  end
  return used, wait, retry, lack, part
end

local function record_bucket(cost, refill, _, lack, part)
  local more, rest = refill_time(cost, refill)
  lack, part = lack + more, part + rest
  if part >= refill then
    lack, part = lack + 1, part - refill
  end
  local unit, over = refill_time(1, refill)
  return 'B' .. pack('>I7I7I6I6', now, lack, part, refill), lack + 1, unit + (over > 0 and 1 or 0), 0
end
