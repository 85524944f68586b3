"""Writes prime numbers, by trial division up to the square root."""
import sys
from itertools import count, islice, takewhile


def primes():
    found = []
    for number in count(2):
        if all(number % prime for prime in takewhile(lambda prime: prime * prime <= number, found)):
            found.append(number)
            yield number


with open("primes.txt", "w") as file:
    for prime in islice(primes(), int(sys.argv[1])):
        print(prime, file=file)
