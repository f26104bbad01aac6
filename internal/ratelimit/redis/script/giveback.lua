-- giveback takes units out of what earlier charges recorded.
--
-- KEYS: one a return. ARGV[1]: clock:7 (0: Redis's own), then for each return kind:1 (the algorithm), window or
-- refill:6, receipt:8 (time:7 mark:1), cost:6, units:6 (at most the cost). ARGV[1 + i]: as of take.
--
-- The answer is one string with, for each return, the units given back:6.
-- include start.lua

local answer = ''
for i = 1, #KEYS do
  local kind, span, at, _, charged, units = parse('>BI6I7BI6I6', ARGV[1], 27 * i - 19)
  local receipt, limit, cost, given = sub(ARGV[1], 27 * i - 12, 27 * i - 5), 0, 0, 0
  -- include judge.lua
  if not used or used == 0 then
    given = 0
  elseif kind == 1 then
    -- The receipt's entries stand together. Those that stay are nobody's from now on.
    local first = string.find(a, receipt, b, true)
    while first and first % 8 ~= 2 do
      first = string.find(a, receipt, first + 1, true)
    end
    if first and sub(a, first, first + 8 * charged - 1) == rep(receipt, charged) then
      given = units
      local stays = sub(receipt, 1, 7) .. string.char(byte(receipt, 8) + 128)
      a = sub(a, 1, first - 1) .. rep(stays, charged - units) .. sub(a, first + 8 * charged)
    end
  elseif kind == 2 then
    -- The segment that covers the receipt's time gives.
    local width = floor(span / 60)
    for p = 1, #a, 13 do
      local begin, counted = parse('>I7I6', a, p)
      if begin <= at and at < begin + width then
        given = min(units, counted)
        local left = given < counted and pack('>I7I6', begin, counted - given) or ''
        a = sub(a, 1, p - 1) .. left .. sub(a, p + 13)
        break
      end
    end
  elseif kind == 3 and at <= now then
    -- What time has refilled of the charge is no longer the charge's to give. What is kept of it is refilled first.
    given = max(0, min(units, charged - refill_units(now - at, 0, span)))
    local whole, part = refill_time(given, span)
    a, b = a - whole, b - part
    if b < 0 then
      a, b = a - 1, b + span
    end
    if a < 0 then
      a, b = 0, 0
    end
  elseif kind == 4 and a <= at and at <= now then
    given = min(units, used)
  end
  if given > 0 then
    local key, ttl, first_wait = KEYS[i], ARGV[1 + i], 0
    used = used - given
    -- include record.lua
  end
  answer = answer .. pack('>I6', given)
end
return answer
