-- Record cost units with what judge learned; 0 makes the same counter good from now on. What comes of it: the value, its
-- time to live, and the time until a unit is free if none was used before.
local value, life = nil, ttl
if kind == 1 then
  local entry = pack('>I7B', now, mark)
  if cost ~= 1 then
    entry = rep(entry, cost)
  end
  if used == 0 then
    value = 'L' .. entry
  elseif b == 2 then
    value = a .. entry
  else
    value = 'L' .. sub(a, b) .. entry
  end
  first_wait = span
elseif kind == 2 then
  local width = floor(span / 60)
  local begin, units = now, cost
  if a ~= '' then
    local newest, counted = parse('>I7I6', a, #a - 12)
    if newest + width > now then
      begin, units, a = newest, counted + cost, sub(a, 1, -14)
    end
  end
  value = 'S' .. pack('>I7', used + cost) .. a .. pack('>I7I6', begin, units)
  first_wait = begin + width - 1 + span - now
elseif kind == 3 then
  local whole, part = refill_time(cost, span)
  local lack = a + whole
  part = b + part
  if part >= span then
    lack, part = lack + 1, part - span
  end
  value = 'B' .. pack('>I7I7I6I6', now, lack, part, span)
  if lack >= (ttl - grace) * 1000 then
    life = ceil((lack + 1) / 1000) + grace
  end
  whole, part = refill_time(1, span)
  first_wait = whole + (part > 0 and 1 or 0)
else
  first_wait = a + span - now
  value, life = 'W' .. pack('>I7I7', a, used + cost), ceil(first_wait / 1000) + grace
end
call('PSETEX', key, life, value)
