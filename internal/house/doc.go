// Package house holds no code: its tests hold the rules of the repository as a whole. Which package may import
// what, where the module's path may stand, why each dependency is there, and that a fork builds.
package house
