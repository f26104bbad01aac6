-- How counters are stored. Times are microseconds, whole numbers far below 2^53, so Lua's doubles hold them exactly.
-- Stored integers are big-endian. A value begins with one byte that names its shape:
--
--   L (time:7 mark:1)*               one entry a unit, the oldest first; marks tell charges of one instant apart, those
--                                    from 128 on are of units without a receipt
--   S total:7 (begin:7 units:6)*     one entry a segment, the oldest first, and the sum of their units
--   B at:7 lack:7 part:6 refill:6    at that time the bucket was full again in lack + part ÷ refill
--   W begin:7 used:7                 the window that began with its first hit
--
-- The scripts are put together from files, and run from top to bottom with few functions, because Redis makes each
-- function and each string anew in every run: this is what a decision costs.
local call, pcall, pack, parse = redis.call, redis.pcall, struct.pack, struct.unpack
local byte, sub, rep = string.byte, string.sub, string.rep
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

-- The clock is Redis's own. Only tests send a time; Redis, which expires keys by its own, then has to wait.
local now, grace = parse('>I7', ARGV[1]), 3600000
if now == 0 then
  local t = call('TIME')
  now, grace = t[1] * 1000000 + t[2], 0
end

-- shift moves the time at the head of every entry of the given size, from the position on, back to where the newest is
-- now. It is for a clock that was set back: the entries age on from the first call that sees the step.
local function shift(v, from, size)
  local delta = now - parse('>I7', v, #v - size + 1)
  local moved = { sub(v, 1, from - 1) }
  for p = from, #v, size do
    moved[#moved + 1] = pack('>I7', max(0, parse('>I7', v, p) + delta))
    moved[#moved + 1] = sub(v, p + 7, p + size - 1)
  end
  return table.concat(moved)
end

-- live is, by binary search, the position of the first entry whose time is above cut; past the end if there is none.
local function live(v, from, size, cut)
  local low, high = -1, (#v - from + 1) / size
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

-- A bucket counts what it lacks as the time in which that is refilled, in whole microseconds and a part, whose unit is
-- one refill-th of a microsecond. Below, no product exceeds 2 × 10^15: all are exact.

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
